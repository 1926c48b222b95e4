"""How it is shown: figures, tables, widgets. This room imports the science and is never imported by it."""

from . import figures, live
from .explore import explore
from .live import Playground

__all__ = ["Playground", "explore", "figures", "live"]
