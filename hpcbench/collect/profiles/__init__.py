"""The profiles of operators of a sweep, as a table."""
