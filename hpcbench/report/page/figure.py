"""A figure as the page has it: the chart in the page's own colours, and its words."""

from __future__ import annotations

from hpcbench.report.charts import base
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.figures import specification
from hpcbench.report.page import model


def on_page(figure: base.Figure, *, wide: bool = False) -> model.Figure:
    """Charts side by side are wide in any case."""
    spec = specification(figure, ON_PAGE)
    return model.Figure(figure.id, figure.title, figure.caption, figure.description, spec, wide=wide or "facet" in spec)
