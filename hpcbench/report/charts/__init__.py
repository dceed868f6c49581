"""Vega-Lite charts of a report, each defined once for page, files and papers."""
