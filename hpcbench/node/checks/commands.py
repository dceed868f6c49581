"""The commands of the zipapp that the jobs of `hpcbench doctor` call."""

import json
import os
import sys
from typing import Any

from ..host import hardware
from ..host.sysfs import this_system
from . import peaks as peak_performance
from . import placement as given
from . import run_checks
from .node_lock import node_lock
from .speed import measure_speed


def checkup(arguments: Any) -> int:
    """Print the hardware, and each check result with its group, as lines of JSON."""
    with node_lock(arguments.turns):
        print(json.dumps(hardware.describe()))
        for group, finding in run_checks.run(this_system(), arguments.seconds):
            print(json.dumps({"group": group, **finding._asdict()}))
    return 0


def peaks(arguments: Any) -> int:
    """Print the peak performance of this machine, and the check results of the measurement, as a line of JSON."""
    with node_lock(arguments.turns):
        result = peak_performance.measure_peaks(this_system(), [sys.executable, *arguments.python])
    findings = [finding._asdict() for finding in result.findings]
    print(json.dumps({"machine": result.machine.as_data(), "findings": findings}))
    return 0


def speed(arguments: Any) -> int:
    """Print the speed of this node as a line of JSON."""
    with node_lock(arguments.turns):
        measured = measure_speed(this_system(), [sys.executable, *arguments.python])
    print(json.dumps(measured.as_data()))
    return 0


def placement(arguments: Any) -> int:
    """Print the CPUs and GPUs of this task as a line of JSON."""
    print(json.dumps(given.placement(this_system(), os.environ)))
    return 0
