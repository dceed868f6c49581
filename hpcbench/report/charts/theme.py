"""How charts look: colours that everybody can tell apart, in grey by shapes and dashes; sizes for their place.

Colours are Paul Tol's bright scheme ("Colour schemes", SRON technical note SRON/EPS/TN/09-002), made for readers who
are colour-blind; what is ordered has the scale cividis (Nunez, Anderton and Renslow, 2018, PLOS ONE 13), whose
lightness grows evenly. A framework has the same colour in every chart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hpcbench.node.catalog import FRAMEWORKS

BLUE, RED, GREEN, YELLOW, CYAN, PURPLE, GREY = (
    "#4477AA",
    "#EE6677",
    "#228833",
    "#CCBB44",
    "#66CCEE",
    "#AA3377",
    "#BBBBBB",
)
COLOURS = (BLUE, RED, GREEN, YELLOW, CYAN, PURPLE, GREY)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [10, 2], [1, 3])
ORDERED: Literal["cividis"] = "cividis"
OF_FRAMEWORK = dict(zip(FRAMEWORKS, (RED, YELLOW, PURPLE, CYAN, GREEN, BLUE, GREY), strict=True))
QUIET = "#888888"  # of what frames the data: ideal lines, fits' names, bases

Theme = Literal["screen", "paper"]


@dataclass(frozen=True)
class Place:
    """Where charts are to stand. Sizes are in pixels, of which a paper's PDF has 72 to the inch; `fluid` ones are as
    wide as the page lets them be."""

    theme: Theme
    width: int
    height: int
    fluid: bool = False
    titled: bool = True  # whether the picture itself has a title: a page and a paper have captions

    def facet(self, columns: int) -> tuple[int, int]:
        """Width and height of each of several charts side by side."""
        return max(120, (self.width - 40 * columns) // columns), self.height * 2 // 3


ON_PAGE = Place("screen", 760, 340, fluid=True, titled=False)
AS_FILE = Place("screen", 640, 360)
# The width of a column of a two-column paper, 3.33 inches (IEEE, ACM), less what axes and labels take.
IN_PAPER = Place("paper", 190, 140, titled=False)


def config(theme: Theme) -> dict[str, Any]:
    """Vega-Lite's config: fonts, lines and grids. Colours of text are the page's affair: it knows light from dark."""
    font = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
    small, large = (8, 9) if theme == "paper" else (12, 13)
    text = {"labelFontSize": small, "titleFontSize": large if theme == "screen" else small, "titleFontWeight": "normal"}
    thin = 0.5 if theme == "paper" else 1.0
    return {
        "font": "Liberation Serif, Times New Roman, Times, serif" if theme == "paper" else font,
        "background": None,
        "view": {"stroke": None},
        "axis": {
            **text,
            "gridOpacity": 0.35,
            "gridWidth": thin,
            "domainWidth": thin,
            "tickWidth": thin,
            "labelLimit": 260 if theme == "screen" else 110,
            "labelOverlap": "greedy",
            "labelSeparation": 12 if theme == "screen" else 5,
            "titlePadding": 8 if theme == "screen" else 4,
        },
        "legend": {
            **text,
            "orient": "top",
            "direction": "horizontal",
            "columns": 4 if theme == "screen" else 2,
            "labelLimit": 240 if theme == "screen" else 90,
            "symbolSize": 70 if theme == "screen" else 25,
            "titleLimit": 300,
            "gradientLength": 200 if theme == "screen" else 100,
        },
        "header": {"labelFontSize": small, "titleFontSize": small, "titleFontWeight": "normal", "labelLimit": 300},
        "title": {"fontSize": large + 1, "anchor": "start", "fontWeight": "bold", "subtitleFontSize": small},
        "range": {"category": list(COLOURS), "symbol": list(SHAPES), "ordinal": {"scheme": ORDERED}},
        "point": {"size": 60 if theme == "screen" else 18, "filled": True, "color": BLUE},
        "line": {"strokeWidth": 2 if theme == "screen" else 1, "color": BLUE},
        "rule": {"strokeWidth": 1.5 if theme == "screen" else 0.75, "color": BLUE},
        "scale": {"bandPaddingInner": 0.15},
    }
