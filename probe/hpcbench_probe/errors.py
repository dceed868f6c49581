"""The error of a program that uses the probe incorrectly."""


class ProbeError(RuntimeError):
    """Steps are nested, or a phase is outside a step. It is raised only in runs of hpcbench."""
