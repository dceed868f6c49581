"""Peaks of machines: which Pythons may measure them, what a job has measured, and that they are kept."""

from __future__ import annotations

from typing import Any

from hpcbench.config.site import Site
from hpcbench.core.check_result import HARDWARE, NOTE, OK, Finding
from hpcbench.doctor.checked_host import Place
from hpcbench.environments.resolve import brings_python, resolve
from hpcbench.errors import UserError
from hpcbench.store.machine_peaks import keep_peaks, machine_peaks
from hpcbench.store.workspace import Workspace

PYTORCH = "pytorch"
_SUBJECT = "peaks"


def pythons(workspace: Workspace, site: Site) -> tuple[str, ...]:
    """Who else than the Python of the checkup may have numpy or torch: that of the environment `pytorch`, where it is
    built or named. One that modules, lines of shell or a container bring does not start by itself."""
    if brings_python(site.environment(PYTORCH)):
        return ()
    try:
        return (resolve(site, PYTORCH, workspace).python,)
    except UserError:
        return ()


def add(place: Place, told: dict[str, Any]) -> None:
    """What a job tells of its node, as node.pyz peaks prints it."""
    try:
        place.peaks = machine_peaks(told["machine"])
        place.add(HARDWARE, [Finding(**finding) for finding in told["findings"]])
    except (KeyError, TypeError, ValueError):
        means = "What runs there has no roofline."
        mend = "Look again; where the workspace has a template doctor.sh.j2 of its own, bring that up to date."
        place.add(HARDWARE, [Finding(_SUBJECT, NOTE, "not measured: the job has left none", means, mend)])


def keep(workspace: Workspace, place: Place) -> None:
    """Write down what was measured at this place, and tell where."""
    if place.peaks is None or not place.peaks.measurements:
        return
    try:
        path = keep_peaks(workspace, place.peaks)
    except OSError as error:
        means = "Reports draw no roofline of what runs there."
        mend = "Run this in a workspace that you may write to."
        place.add(HARDWARE, [Finding(_SUBJECT, NOTE, f"not kept: {error}", means, mend)])
        return
    place.add(HARDWARE, [Finding(_SUBJECT, OK, f"kept in {path.relative_to(workspace.root)}")])
