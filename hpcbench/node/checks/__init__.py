"""Looks at a machine for what makes numbers worse: one file per check, each a function from a System to findings.

It reads and times, needs no rights, and changes nothing.
"""
