"""What tests share: tasks, chapters' code, node, a browser, JupyterLab."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
