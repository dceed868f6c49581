"""The schema of records."""

SCHEMA = 3
