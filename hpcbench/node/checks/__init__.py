"""Checks of a machine for what makes measurements worse, one file per check: a function from a System to findings.

The checks read and time. They need no privileges and change nothing.
"""
