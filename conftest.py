"""`pytest --nbval book/`: kernels of one thread, and, with LSA_MARGINS set, a look at printed numbers."""

import os

from margins import Margins

# Many small computations: two threads that wait for each other on a busy machine take many times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    watched = os.environ.get("LSA_MARGINS") in ("check", "accept")
    if watched and config.getoption("nbval", False) and not config.option.collectonly:
        config.pluginmanager.register(Margins())
