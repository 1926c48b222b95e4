"""`Live`: a figure that computes in the reader's browser, with a kernel or without."""

from pathlib import Path

import anywidget
import traitlets

from ... import checks
from ..thumbnail import publishing, with_thumbnail

HERE = Path(__file__).parent
THUMBNAILS = HERE / "thumbnails"  # a picture of each figure, by book/_tools/thumbnails.py

# All figures, made by `make js`: a script that defines lsaFigures.render, with their names in its first line.
SCRIPT = (HERE / "figures.js").read_text(encoding="utf-8")
FIGURES = SCRIPT.partition("\n")[0].partition("Figures: ")[2].split(", ")

# What a stored notebook holds in place of the JavaScript, which a kernel brings and the page has in a file.
STUB = 'export default { render({ el }) { el.textContent = "Run this cell to bring the figure to life."; } };'


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

    def _repr_mimebundle_(self, **kwargs):
        """With a picture of the figure, for those who have not run its cell."""
        picture = THUMBNAILS / f"{self.figure}.png"
        thumbnail = picture.read_bytes() if publishing() and picture.exists() else None
        return with_thumbnail(super()._repr_mimebundle_(**kwargs), thumbnail)
