"""The provenance of a sweep, which makes it reproducible: its options, its software, and where it was created."""
