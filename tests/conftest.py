"""What all tests share."""

import os

import pytest
import torch
from helpers.browser import HOW, launch, served
from playwright.sync_api import sync_playwright

# Many small computations: one thread each is as fast, and does not fight with other processes for cores.
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            (pytest.fail if os.environ.get("LSA_REQUIRE_BROWSER") == "1" else pytest.skip)(HOW)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """The folder of pages with one live figure each."""
    from helpers.live_gallery import write_gallery  # it needs Sphinx, which most tests do not

    return write_gallery(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def gallery_address(gallery):
    with served(gallery) as base:
        yield base


@pytest.fixture
def double():
    """float64 by default, as in the chapters whose formulas are tested."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
