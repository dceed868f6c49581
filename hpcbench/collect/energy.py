"""Columns for the energy of CPUs, memory, GPUs and nodes from the first measurement of a run to its last."""

from __future__ import annotations

from typing import Any

from hpcbench.core.energy import KINDS, Energy
from hpcbench.core.record import MonitorSummary, Record
from hpcbench.core.run_spec import COMMAND, SRUN
from hpcbench.store.run_record import RunRecord

COLUMNS = [f"energy_{kind}_{what}" for kind in KINDS for what in ("j", "uncertainty_j", "j_per_item")]
# Columns of the total measured energy, and of the kinds of parts that it includes, e.g. `cpu+memory`.
MEASURED, MEASURED_PER_ITEM, SCOPE = "energy_measured_j", "energy_measured_j_per_item", "energy_scope"
REASON = "energy_reason"
# The counters of a Cray blade are per GPU package, each of at most two GPUs (MI250X), not per GPU. They apply only to a
# case with all GPUs of the packages.
_GPUS_OF_PACKAGE = 2
_BLADE = "cray"


def energy_columns(record: Record) -> dict[str, Any]:
    """Return the energy by kind in J, summed over parts and nodes; None unless all parts of the kind were measured.

    Uncertainties are added linearly, since errors of sensors may be systematic.
    """
    items = _items(record)
    columns: dict[str, Any] = dict.fromkeys(COLUMNS)
    unwatched = _unwatched(record)
    reasons = [f"no monitor data from {host}" for host in unwatched]
    for kind in KINDS:
        parts = [part for node in record.monitors for part in parts_of(record, node, kind)]
        missing = [part for part in parts if part.joules is None]
        reasons += [f"{part.domain}: {part.reason}" for part in missing]
        if parts and not missing and not unwatched:
            joules = sum(part.joules or 0.0 for part in parts)
            columns[f"energy_{kind}_j"] = joules
            columns[f"energy_{kind}_uncertainty_j"] = sum(part.uncertainty_j or 0.0 for part in parts)
            columns[f"energy_{kind}_j_per_item"] = joules / items if items else None
    if isinstance(record, RunRecord) and record.energy_slurm_reason:
        reasons.append(f"Slurm: {record.energy_slurm_reason}")
    columns |= measured(columns, on_gpus=_computes_on_gpus(record))
    return {**columns, REASON: "; ".join(dict.fromkeys(reasons)) or None}


def measured(columns: dict[str, Any], *, on_gpus: bool) -> dict[str, Any]:
    """Return total energy in J, per item, and scope: of the node if it is metered, otherwise the sum of measured kinds.

    All are None unless the computing devices, GPUs if `on_gpus` and otherwise CPUs, were measured.
    """
    scope = [kind for kind in KINDS if columns[f"energy_{kind}_j"] is not None]
    if "node" in scope:
        scope = ["node"]
    elif ("gpu" if on_gpus else "cpu") not in scope:
        return dict.fromkeys((MEASURED, MEASURED_PER_ITEM, SCOPE))
    per_item = [columns[f"energy_{kind}_j_per_item"] for kind in scope]
    return {
        MEASURED: sum(columns[f"energy_{kind}_j"] for kind in scope),
        MEASURED_PER_ITEM: None if None in per_item else sum(per_item),
        SCOPE: "+".join(scope),
    }


def _computes_on_gpus(record: Record) -> bool:
    """Return whether the case uses GPUs: by the device of a framework, or the requested GPUs of a command."""
    parameters = record.parameters
    if parameters.get("framework") == COMMAND:
        return int(parameters["gpus_per_task"]) > 0
    return bool(parameters.get("device") == "gpu")


def _unwatched(record: Record) -> list[str]:
    """Return the hosts without data of a monitor; none without measurements.

    mpirun may start processes on nodes without a rank of hpcbench, whose names the record does not have.
    """
    watched = {node.host for node in record.monitors}
    hosts = list(dict.fromkeys(rank.host for rank in record.ranks))
    parameters = record.parameters
    launched = parameters.get("launch", SRUN) != SRUN
    unnamed = ["another node"] * (int(parameters["nodes"]) - len(watched.union(hosts)) if launched else 0)
    return [host for host in [*hosts, *unnamed] if host not in watched] if record.measurements else []


def parts_of(record: Record, node: MonitorSummary, kind: str) -> list[Energy]:
    """Return the parts of a kind on a node from one source, since several sources would count the same energy twice.

    The source is the first one that measured all parts, otherwise the first one.
    """
    by_source: dict[str | None, list[Energy]] = {}
    for part in node.energy:
        if part.kind == kind:
            by_source.setdefault(part.source, []).append(part)
    estimates = list(by_source.values())
    if kind == "gpu":
        given = gpus_given(record, node.host)
        estimates = [_given(parts, given) for parts in estimates]
    complete = [parts for parts in estimates if all(part.joules is not None for part in parts)]
    return next(iter(complete or estimates), [])


def gpus_given(record: Record, host: str) -> int:
    """Return how many GPUs the case used on a node: gpus_per_task for each rank, except ranks that ran on CPUs.

    A launcher of a command starts all tasks of a node.
    """
    parameters = record.parameters
    if parameters.get("launch", SRUN) != SRUN:
        return int(parameters["tasks_per_node"]) * int(parameters["gpus_per_task"])
    ranks = [rank for rank in record.ranks if rank.host == host and rank.gpus != []]
    return len(ranks) * int(parameters["gpus_per_task"])


def _given(parts: list[Energy], given: int) -> list[Energy]:
    """Return the parts of the GPUs of the case, the first `given` of the job, or one part with a reason if unknown."""
    source = parts[0].source
    if not given:
        return []
    if source == _BLADE and given < _GPUS_OF_PACKAGE * len(parts):
        return [_untold(f"the counters are of all GPUs of the blade, but the case was given {given}")]
    if source not in (_BLADE, None) and len(parts) < given:
        return [_untold(f"the monitor saw {len(parts)} of the {given} that the case was given")]
    return parts[:given]


def _untold(reason: str) -> Energy:
    return Energy("gpu", None, "gpu", reason=reason)


def _items(record: Record) -> int | None:
    """Return the number of items of all tasks in all measurements; None if these are not steps with items."""
    samples, work = record.measurements, record.work
    if not samples or not work or work.items_per_step is None or record.learning:
        return None
    return len(samples.times_s) * samples.steps_per_measurement * work.items_per_step
