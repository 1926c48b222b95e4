"""What all tests share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from helpers import ROOT
from helpers.browser import HOW, launch, served
from playwright.sync_api import sync_playwright
from xdist.scheduler import LoadScopeScheduling

# Many small computations: one thread each is as fast, and does not fight with other processes for cores.
torch.set_num_threads(1)


class Shares(LoadScopeScheduling):
    """What a worker takes at a time: a page of the book, a live figure, a notebook or else a file of tests.

    xdist's own --dist loadgroup does not work with pytest 9.2, which computes what xdist 3.8 wants to set.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        parted = file.endswith(("test_pages.py", "test_live_pages.py"))  # by their first parameter
        return file + test.partition("[")[2].partition("-")[0].rstrip("]") if parted else file


def pytest_xdist_make_scheduler(config, log):
    return Shares(config, log)


@pytest.fixture(scope="session")
def html(tmp_path_factory, testrun_uid) -> Path:
    """The folder of the book's pages, built from the files as they are now, once for all workers."""
    built = tmp_path_factory.getbasetemp().parent / f"built-{testrun_uid}"
    with FileLock(f"{built}.lock"):
        if not built.exists():
            command = [sys.executable, ROOT / "book/_tools/pages.py"]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, (
                f"the book does not build:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
            )
            built.touch()
    return ROOT / "_build" / "html"


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
