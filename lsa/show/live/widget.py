"""`Live`: a figure that computes in the reader's browser, with a kernel or without."""

import base64
from pathlib import Path

import anywidget
import traitlets

from ... import checks

HERE = Path(__file__).parent
THUMBNAILS = HERE / "thumbnails"  # a picture of each figure, by book/_tools/thumbnails.py

# All figures, made by `make js`: a script that defines lsaFigures.render, with their names in its first line.
SCRIPT = (HERE / "figures.js").read_text(encoding="utf-8")
FIGURES = SCRIPT.partition("\n")[0].partition("Figures: ")[2].split(", ")

MIME = "application/vnd.lsa.live+json"  # what a stored output holds for the page: `Live.given`


class Live(anywidget.AnyWidget):
    """The figure called `figure` and the values it begins with, each an attribute, the same in the browser.

        widget = Live("flow", alt="The loss along a curve of layers.", d=3, n=40)
        widget.n = 50           # moves the slider
        widget.d                # what the reader has chosen

    `alt` says what the figure shows to those who do not see it.
    """

    _esm = SCRIPT + "export default lsaFigures;\n"

    figure = traitlets.Unicode().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)

    def __init__(self, figure: str, *, alt: str, **values):
        checks.choice("figure", figure, FIGURES)
        self.names = list(values)
        self.add_traits(**{name: traitlets.Any(value).tag(sync=True) for name, value in values.items()})
        super().__init__(figure=figure, alt=alt)

    def __repr__(self) -> str:
        # Notebooks store this text and nbval compares it.
        return f"live.{self.figure}()"

    @property
    def values(self) -> dict:
        """What the figure shows now, by name."""
        return {name: getattr(self, name) for name in self.names}

    @property
    def given(self) -> dict:
        """All that draws it where there is no kernel."""
        return {"figure": self.figure, "alt": self.alt, **self.values}

    def _repr_mimebundle_(self, **kwargs):
        """The widget; without a kernel, what the book's page draws, and a picture for JupyterLab."""
        data, metadata = super()._repr_mimebundle_(**kwargs)
        data[MIME] = self.given
        if (picture := THUMBNAILS / f"{self.figure}.png").exists():
            data["image/png"] = base64.b64encode(picture.read_bytes()).decode()
        return data, metadata
