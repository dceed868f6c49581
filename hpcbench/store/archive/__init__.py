"""A sweep in one file: written on one machine, read on another."""
