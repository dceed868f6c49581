"""Modules of Flax that the user's functions return."""
