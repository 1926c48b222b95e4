"""`pytest --nbval book/` also watches how close the printed numbers are to another digit."""

from margins import Margins


def pytest_configure(config):
    if config.getoption("nbval", False) and not config.option.collectonly:
        config.pluginmanager.register(Margins())
