"""The energy of a repetition, from its first sample to its last, as columns: of CPUs, memory, GPUs and nodes."""

from __future__ import annotations

from typing import Any

from hpcbench.collect.records import Record

# By the beginning of the names of domains in monitor/energy.py.
_KINDS = {"cpu": ("cpu",), "memory": ("dram", "memory"), "gpu": ("gpu", "accelerator"), "node": ("node",)}
COLUMNS = [f"energy_{kind}_{what}" for kind in _KINDS for what in ("j", "uncertainty_j", "j_per_item")]
OF_SLURM = "energy_slurm_j"  # of all of the repetition, by Slurm's own counter; not in the record
REASON = "energy_reason"


def energy_columns(record: Record) -> dict[str, Any]:
    """Sums over the domains of a kind and over nodes; empty unless all of them were measured.

    Uncertainties are added up, too: what a sensor is off by may be common to all of them.
    """
    energies = [energy for node in record["watched"] for energy in node["energy"]]
    items = _items(record)
    columns: dict[str, Any] = dict.fromkeys(COLUMNS)
    for kind, prefixes in _KINDS.items():
        parts = [energy for energy in energies if energy["domain"].startswith(prefixes)]
        if parts and all(part["joules"] is not None for part in parts):
            joules = sum(part["joules"] for part in parts)
            columns[f"energy_{kind}_j"] = joules
            columns[f"energy_{kind}_uncertainty_j"] = sum(part["uncertainty_j"] for part in parts)
            columns[f"energy_{kind}_j_per_item"] = joules / items if items else None
    reasons = [f"{energy['domain']}: {energy['reason']}" for energy in energies if energy["reason"]]
    return {**columns, OF_SLURM: record.get(OF_SLURM), REASON: "; ".join(dict.fromkeys(reasons)) or None}


def _items(record: Record) -> int | None:
    """Items of all tasks in all samples; None where a sample is no step of so many."""
    samples, work = record["samples"], record["work"]
    if not samples or not work or record["learning"]:
        return None
    return int(len(samples["times_s"]) * samples["steps_per_sample"] * work["items_per_step"])
