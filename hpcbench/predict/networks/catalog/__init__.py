"""The catalog of image networks that are known by name: shapes of their operators, without measurements."""
