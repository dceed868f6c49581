"""Checks of a machine for conditions that impair measurements. Each has a file, with a function from System to results.

The checks read files and measure times. They need no privileges and change nothing.
"""
