"""A figure as the page has it: the chart in the page's own colours, and its words."""

from __future__ import annotations

from hpcbench.report.charts import components
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.export.figure_files import specification
from hpcbench.report.html import page_model


def on_page(figure: components.Figure, *, wide: bool = False) -> page_model.Figure:
    """Charts side by side are wide in any case."""
    spec = specification(figure, ON_PAGE)
    return page_model.Figure(
        figure.id, figure.title, figure.caption, figure.description, spec, wide=wide or "facet" in spec
    )
