"""Figures on the page: the chart in the colours of the page, with its texts."""

from __future__ import annotations

from hpcbench.report.charts import components
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.export.figure_files import specification
from hpcbench.report.html import page_model


def on_page(figure: components.Figure, *, wide: bool = False) -> page_model.Figure:
    """Return a figure for the page. Facets are always wide."""
    spec = specification(figure, ON_PAGE)
    return page_model.Figure(
        figure.id, figure.title, figure.caption, figure.description, spec, wide=wide or "facet" in spec
    )
