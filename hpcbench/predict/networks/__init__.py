"""Whole networks: listed operator by operator, or known by name."""
