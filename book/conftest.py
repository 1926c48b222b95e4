"""With LSA_MARGINS set, `pytest --nbval book/` also watches how close printed numbers are to other digits."""

import os

from margins import Margins


def pytest_configure(config):
    watched = os.environ.get("LSA_MARGINS") in ("check", "accept")
    if watched and config.getoption("nbval", False) and not config.option.collectonly:
        config.pluginmanager.register(Margins())
