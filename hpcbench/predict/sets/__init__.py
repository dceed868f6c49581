"""Data sets in the documented formats (docs/reference/predictor-data.md), as the tables of the predictor."""
