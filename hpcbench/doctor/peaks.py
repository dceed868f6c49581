"""Peak performance of machines: the Pythons that may measure it, the results of a job, and where they are saved."""

from __future__ import annotations

from typing import Any

from hpcbench.config.site import Site
from hpcbench.core.check_result import HARDWARE, NOTE, OK, WARNING, CheckResult
from hpcbench.doctor.checked_host import CheckedHost
from hpcbench.environments.resolve import brings_python, resolve
from hpcbench.errors import UserError
from hpcbench.store.machine_peaks import keep_peaks, machine_peaks
from hpcbench.store.workspace import Workspace

PYTORCH = "pytorch"
_SUBJECT = "peaks"
_LOAD = "background load"  # the subject of node.checks.load
_CPU = "cpu"  # the device of peaks that load on CPUs makes too low


def candidate_pythons(workspace: Workspace, site: Site) -> tuple[str, ...]:
    """Return the Pythons that may have numpy or torch if the checkup's Python does not.

    This is the Python of the environment `pytorch`, if that is built or named by the site. A Python from modules, shell
    lines or a container is left out, because it does not start by itself.
    """
    if brings_python(site.environment(PYTORCH)):
        return ()
    try:
        return (resolve(site, PYTORCH, workspace).python,)
    except UserError:
        return ()


def add_peaks(host: CheckedHost, output: dict[str, Any]) -> None:
    """Add the peak performance in the output of `node.pyz peaks` to a host."""
    try:
        host.peaks = machine_peaks(output["machine"])
        host.add(HARDWARE, [CheckResult(**result) for result in output["findings"]])
    except (KeyError, TypeError, ValueError):
        means = "Cases on this machine have no roofline."
        action = "Run doctor again. If the workspace has its own doctor.sh.j2, update it first."
        host.add(HARDWARE, [CheckResult(_SUBJECT, NOTE, "not measured (no result from the job)", means, action)])


def save_peaks(workspace: Workspace, host: CheckedHost) -> None:
    """Save the measured peak performance of a host in the workspace, and add the path to its results."""
    if host.peaks is None or not host.peaks.measurements:
        return
    is_loaded = any(result.subject == _LOAD and result.level == WARNING for result in host.results)
    measured = tuple(peak._replace(under_load=is_loaded and peak.device == _CPU) for peak in host.peaks.measurements)
    try:
        path = keep_peaks(workspace, host.peaks._replace(measurements=measured))
    except OSError as error:
        means = "Reports have no roofline for cases on this machine."
        action = "Run doctor in a workspace with write permission."
        host.add(HARDWARE, [CheckResult(_SUBJECT, NOTE, f"not saved: {error}", means, action)])
        return
    if is_loaded:
        means = "The peaks are too low, and so are the rooflines and predictions that use them."
        action = "Run doctor again on an idle machine: the higher rates are kept."
        host.add(HARDWARE, [CheckResult(_SUBJECT, WARNING, "measured under load", means, action)])
    host.add(HARDWARE, [CheckResult(_SUBJECT, OK, f"saved in {path.relative_to(workspace.root)}")])
