"""What all tests share."""

import os

import pytest
import torch
from browser import HOW, launch
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
