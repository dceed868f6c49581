"""Measure the steps of a training loop in runs of hpcbench; do nothing in other runs."""

from .errors import ProbeError
from .probe import Probe, probe

__version__ = "0.1.0"
__all__ = ["Probe", "ProbeError", "probe"]
