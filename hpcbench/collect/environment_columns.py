"""Columns for the machine and software of a run, which should be equal for compared cases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hpcbench.core.record import Record
from hpcbench.core.variables import performance


def setup_columns(record: Record) -> dict[str, Any]:
    """Return machine and software of a run, and hpcbench version and git commit of its sweep, by column."""
    return {
        "cpu_model": _of_nodes(record, "cpu_model"),
        "cpu_governor": _of_nodes(record, "governor"),
        "cpu_turbo": _of_nodes(record, "turbo", {True: "on", False: "off"}),
        "gpu_model": _listed(gpu for rank in record.ranks for gpu in rank.gpus or ()),
        "kernel": _of_nodes(record, "kernel"),
        "software": _software(record),
        "performance_variables": json.dumps(performance.of(record.environment)) if record.nodes else None,
        "outside_variables": _from_outside(record),
        "hpcbench_version": record.hpcbench_version,
        "git_commit": record.git.commit if record.git else None,
        "git_dirty": record.git.dirty if record.git else None,
    }


def _from_outside(record: Record) -> str | None:
    """Return variables and values, or `none`; None if the run did not start."""
    assigned = ", ".join(f"{name}={value}" for name, value in record.outside.items())
    return assigned or ("none" if record.nodes else None)


def _of_nodes(record: Record, name: str, words: Mapping[Any, str] | None = None) -> str | None:
    found = [getattr(node, name) for node in record.nodes]
    return _listed((words or {}).get(value, value) for value in found if value is not None)


def _listed(values: Iterable[str]) -> str | None:
    return "; ".join(dict.fromkeys(values)) or None


def _software(record: Record) -> str | None:
    """Return the versions of Python and packages, e.g. `python 3.11.2, numpy 2.4.6, torch 2.13.0+cpu`."""
    versions = {"python": record.python, **(record.packages or {})}
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version) or None
