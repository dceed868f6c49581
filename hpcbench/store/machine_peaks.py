"""The peak performance of machines: one file per type of node, shared by all sweeps of a workspace.

The files are in results/.machines/: the name of a sweep never begins with a dot, and archives do not contain them.
`hpcbench doctor` writes them with the permissions of its user.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hpcbench.core.files import write_whole
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.store.workspace import Workspace
from hpcbench.util import bounded_read
from hpcbench.util.fast_json import decoded

SCHEMA = 1
_LONGEST_NAME = 120
_MACHINE = TypeAdapter(MachinePeaks)


def read_peaks(workspace: Workspace, tell: Callable[[str], object]) -> list[MachinePeaks]:
    """Return the peak performance of all known types of nodes. Call `tell` with a message for each unreadable file."""
    found = []
    for path in sorted(workspace.machines.glob("[!.]*.json")):
        try:
            found.append(_read(path))
        except (OSError, ValueError) as error:
            tell(f"{path}: the peak performance of a machine cannot be read, and is left out: {error}")
    return found


def keep_peaks(workspace: Workspace, machine: MachinePeaks) -> Path:
    """Merge a measurement into the file of its type of node, and return the path of the file.

    For each device, number of CPUs and dtype, the higher rates are kept. The file is replaced atomically; if two
    processes write it at the same time, the last one wins. Raise OSError if it cannot be written.
    """
    path = _path(workspace, machine)
    before = _before(path, machine)
    merged: dict[tuple[str, int, str], Peak] = {}
    for peak in (*before.measurements, *machine.measurements):
        merged[_kind(peak)] = _best(merged.get(_kind(peak), peak), peak)
    measurements = tuple(merged[kind] for kind in sorted(merged))
    others = (before.hosts | machine.hosts) - {peak.host for peak in measurements}
    data = {
        "schema": SCHEMA,
        **machine._replace(measurements=measurements, other_hosts=tuple(sorted(others))).as_data(),
    }
    write_whole(str(path), json.dumps(data, indent=1) + "\n")
    return path


def _path(workspace: Workspace, machine: MachinePeaks) -> Path:
    """Return the file of a type of node; its name has a checksum if another type has the plain one."""
    name = node_type(machine)
    path = workspace.machines / f"{name}.json"
    try:
        is_free = _read(path)[:3] == machine[:3]
    except (OSError, ValueError):  # no file, or a damaged one
        is_free = True
    return path if is_free else workspace.machines / f"{name}-{zlib.crc32(repr(machine[:3]).encode()):08x}.json"


def node_type(machine: MachinePeaks) -> str:
    """Return a readable file name for a type of node.

    For example `amd-epyc-7763-64-core-processor-128-cpus-nvidia-a100-sxm4-40gb`.
    """
    words = f"{machine.cpu_model} {machine.cpu_count} CPUs {machine.gpu_model or ''}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:_LONGEST_NAME]


def machine_peaks(data: Any) -> MachinePeaks:
    """Return the peak performance from the JSON data of a job or a file. Raise ValueError if the data are not valid."""
    machine = _MACHINE.validate_json(json.dumps(data), strict=True)
    rates = [rate for peak in machine.measurements for rate in (peak.flops_per_s, peak.bytes_per_s) if rate is not None]
    if not all(0 < rate < math.inf for rate in rates):
        raise ValueError("a rate is not above 0")
    return machine


def _read(path: Path) -> MachinePeaks:
    data = decoded(bounded_read.content(path))
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"it has no schema {SCHEMA}")
    return machine_peaks({name: value for name, value in data.items() if name != "schema"})


def _before(path: Path, machine: MachinePeaks) -> MachinePeaks:
    """Return the content of the file for exactly this type of node; without measurements if the file is damaged."""
    nothing = machine._replace(measurements=(), other_hosts=())
    try:
        before = _read(path)
    except (OSError, ValueError):
        return nothing
    return before if before[:3] == machine[:3] else nothing


def _best(before: Peak, now: Peak) -> Peak:
    """Return the higher rates of two measurements: interference can only lower them.

    The other fields are those of the higher FLOP/s. The result is under load only if both measurements were, because it
    is at least as high as a measurement without load.
    """
    known = [peak.bytes_per_s for peak in (before, now) if peak.bytes_per_s is not None]
    highest = max(now, before, key=lambda peak: peak.flops_per_s)
    return highest._replace(bytes_per_s=max(known, default=None), under_load=before.under_load and now.under_load)


def _kind(peak: Peak) -> tuple[str, int, str]:
    return peak.device, peak.cpus or 0, peak.dtype
