"""Whether equal operators with equal data return the same bits: checksums of results, compared over runs and cases."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from hpcbench.core.frameworks import CHOICES, OPERATOR

CHECKSUM = "result_crc32"
# Runs with these columns in common compute the same from the same data. The number of tasks belongs to it: each task
# of a collective operator has its own data.
_NAME = ("framework", "operator", "phase", "sizes")
_SAME = (*_NAME, "graph_fingerprint", "dtype", "math_mode", "device", "seed", "nodes", "tasks_per_node")
_OVER = (*CHOICES, "cpus_per_task", "framework_version", "environment", "cpu_model", "nodes_used")


@dataclass(frozen=True)
class SameData:
    """The runs of one operator with equal data."""

    framework: str
    operator: str
    phase: str
    sizes: str  # JSON; empty if all are the default
    runs: int
    results: int  # that differ in their bits
    varied: tuple[str, ...]  # columns in which the runs differ
    # Of these, each that has one result per value, and several runs with the same value; empty if none has.
    explained_by: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Return whether all runs returned the same bits."""
        return self.results == 1


def same_data(repetitions: pd.DataFrame) -> list[SameData]:
    """Return the operators of which several runs have a checksum, in the order of the runs.

    The checksum of a collective operator is that of the first rank. Random operators have no checksum.
    """
    if CHECKSUM not in repetitions:  # a table without runs
        return []
    rows = repetitions[(repetitions["task"] == OPERATOR) & repetitions[CHECKSUM].notna()]
    if rows.empty:
        return []
    keys = ["\n".join(map(str, key)) for key in zip(*(rows[name] for name in _SAME), strict=True)]
    return [
        _compared(group)
        for _, group in rows.groupby(pd.Series(keys, rows.index, dtype=object), sort=False)
        if len(group) > 1
    ]


def _compared(rows: pd.DataFrame) -> SameData:
    values = {name: [str(value) for value in rows[name]] for name in _OVER}
    varied = tuple(name for name, texts in values.items() if len(set(texts)) > 1)
    checksums = rows[CHECKSUM].tolist()
    results = len(set(checksums))
    explains = [
        name
        for name in varied
        if len(set(zip(values[name], checksums, strict=True))) == len(set(values[name])) < len(rows)
    ]
    framework, operator, phase, sizes = ("" if pd.isna(value) else str(value) for value in rows.iloc[0][list(_NAME)])
    explained_by = tuple(explains) if results > 1 else ()
    return SameData(framework, operator, phase, sizes, len(rows), results, varied, explained_by)
