"""The theme of charts: distinguishable colours, shapes and dashes, and sizes by output.

Colours are Paul Tol's bright scheme ("Colour schemes", SRON technical note SRON/EPS/TN/09-002), which is safe for
colour-blind readers, and indigo of his muted scheme. Ordered values have the scale cividis (Nunez, Anderton and
Renslow, 2018, PLOS ONE 13), whose lightness increases evenly. A framework has the same colour in every chart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

BLUE, RED, GREEN, YELLOW, CYAN, PURPLE, GREY, INDIGO = (
    "#4477AA",
    "#EE6677",
    "#228833",
    "#CCBB44",
    "#66CCEE",
    "#AA3377",
    "#BBBBBB",
    "#332288",
)
COLOURS = (BLUE, RED, GREEN, YELLOW, CYAN, PURPLE, GREY, INDIGO)
ORDERED: Literal["cividis"] = "cividis"


class Mark(NamedTuple):
    """The style of one series: its colour, the shape of its points and the dash pattern of its lines."""

    colour: str
    shape: str
    dashes: list[int]


MARKS = {  # by framework
    "pytorch": Mark(RED, "circle", [1, 0]),
    "tensorflow": Mark(YELLOW, "square", [6, 3]),
    "keras-torch": Mark(PURPLE, "triangle-up", [2, 2]),
    "keras-jax": Mark(CYAN, "diamond", [8, 3, 2, 3]),
    "keras-tensorflow": Mark(GREEN, "cross", [4, 2]),
    "jax": Mark(BLUE, "triangle-down", [10, 2]),
    "mxnet": Mark(GREY, "triangle-right", [1, 3]),
    "onnxruntime": Mark(INDIGO, "triangle-left", [12, 3, 2, 3, 2, 3]),
}
SHAPES = tuple(mark.shape for mark in MARKS.values())
DASHES = tuple(mark.dashes for mark in MARKS.values())
OF_FRAMEWORK = {name: mark.colour for name, mark in MARKS.items()}
SHAPE_OF_FRAMEWORK = {name: mark.shape for name, mark in MARKS.items()}
DASH_OF_FRAMEWORK = {name: mark.dashes for name, mark in MARKS.items()}
# The page has variants of the colours for light and dark mode, in page.css.
OF_PAGE = {colour: f"var(--series-{place})" for place, colour in enumerate(COLOURS, 1)}
ON_ANY_GROUND = ("#3D83C9", "#C46A12")  # ends of a gradient with contrast to light and dark backgrounds
QUIET = "#888888"  # for annotations: ideal lines, labels of fits, bases

_SANS = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
_SERIF = "Liberation Serif, Times New Roman, Times, serif"  # matches the text of a paper

Theme = Literal["screen", "paper"]


@dataclass(frozen=True)
class PlotSize:
    """The size of charts for one output, in pixels; 72 per inch in a PDF for papers. A `fluid` chart has the width of
    the page."""

    theme: Theme
    width: int  # of the whole chart, including axes
    height: int  # of the plot area
    fluid: bool = False
    titled: bool = True  # whether charts have a title; page and papers have captions

    def facet(self, columns: int) -> tuple[int, int]:
        """Return width and height in pixels of the plot area of each of `columns` charts side by side."""
        axis, gap = (54, 12) if self.theme == "paper" else (85, 20)
        return (self.width - axis - gap * (columns - 1)) // columns, self.height * 2 // 3

    @property
    def characters(self) -> int:
        """Return the approximate number of characters that fit in the width."""
        return int(self.width / (4.5 if self.theme == "paper" else 6.5))


ON_PAGE = PlotSize("screen", 760, 340, fluid=True, titled=False)
AS_FILE = PlotSize("screen", 720, 360)
IN_PAPER = PlotSize("paper", 240, 140, titled=False)  # 3.33 inches, the narrower of the columns of ACM and IEEE


def config(place: PlotSize) -> dict[str, Any]:
    """Return the Vega-Lite config for a size; for the page without fonts, text colours and legends, which it sets."""
    return _marks(place.theme) if place.fluid else {**_marks(place.theme), **_words(place.theme)}


def _marks(theme: Theme) -> dict[str, Any]:
    paper = theme == "paper"
    return {
        "view": {"stroke": None},
        "point": {"size": 18 if paper else 60, "filled": True, "color": BLUE},
        "line": {"strokeWidth": 1 if paper else 2, "color": BLUE},
        "rule": {"strokeWidth": 0.75 if paper else 1.5, "color": BLUE},
        "range": {"category": list(COLOURS), "symbol": list(SHAPES), "ordinal": {"scheme": ORDERED}},
    }


def _words(theme: Theme) -> dict[str, Any]:
    paper = theme == "paper"
    small, thin = (8, 0.5) if paper else (12, 1.0)
    text = {"labelFontSize": small, "titleFontSize": small if paper else 13, "titleFontWeight": "normal"}
    return {
        "font": _SERIF if paper else _SANS,
        "background": "white",
        "padding": 3 if paper else 8,
        "axis": {
            **text,
            "gridOpacity": 0.35,
            "gridWidth": thin,
            "domainWidth": thin,
            "tickWidth": thin,
            "labelLimit": 110 if paper else 260,
            "labelOverlap": "greedy",
            "labelSeparation": 5 if paper else 12,
            "titlePadding": 4 if paper else 8,
            "titleLimit": 190 if paper else 340,
        },
        "legend": {
            **text,
            "orient": "top",
            "direction": "horizontal",
            "labelLimit": 180 if paper else 400,
            "symbolSize": 25 if paper else 70,
            "titleLimit": 200 if paper else 400,
            "gradientLength": 100 if paper else 200,
        },
        "header": {"labelFontSize": small, "titleFontSize": small, "titleFontWeight": "normal", "labelLimit": 300},
        "title": {"fontSize": 14, "anchor": "start", "fontWeight": "bold"},
    }
