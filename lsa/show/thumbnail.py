"""A picture of a widget for readers who have not run its cell: small, and stored with the output."""

import base64
import io
import os

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

PUBLISH = "LSA_PUBLISH"  # set to 1 where chapters are run for readers: then pictures are made, and all frames
DPI, COLOURS = 120, 64  # sharp enough, and about 10 KB


def publishing() -> bool:
    return os.environ.get(PUBLISH) == "1"


def thumbnail(figure: Figure) -> bytes:
    """The figure as a small PNG."""
    # a figure without layout engine would leave savefig with that of rcParams, which it was not made for
    no_layout = {"figure.constrained_layout.use": False, "figure.autolayout": False}
    with io.BytesIO() as drawn, plt.rc_context(no_layout):
        figure.savefig(drawn, format="png", dpi=DPI, facecolor="white")
        return small_png(Image.open(drawn).convert("RGB"))


def small_png(picture: Image.Image) -> bytes:
    with io.BytesIO() as small:
        picture.quantize(COLOURS, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
        return small.getvalue()


def lighter(png: str) -> str:
    """A drawing in base64, with as many colours as it needs: a third of its bytes."""
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    return png if picture.mode == "P" else base64.b64encode(small_png(picture.convert("RGB"))).decode()


def with_thumbnail(bundle: dict | tuple | None, picture: bytes | None) -> dict | tuple | None:
    """What `_repr_mimebundle_` of a widget returns, with a picture for where the widget cannot be shown."""
    data = bundle[0] if isinstance(bundle, tuple) else bundle  # anywidget adds metadata
    if data is not None and picture is not None:
        data["image/png"] = base64.b64encode(picture).decode()
    return bundle
