"""The version of the schema of records."""

SCHEMA = 3
