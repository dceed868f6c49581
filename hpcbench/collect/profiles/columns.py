"""The columns of the table of operators, `operators.parquet`."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from hpcbench.collect.power.profile_windows import WindowReadings
from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.core.record_field import described


@dataclass(frozen=True)
class Origin:
    """The run and the case that an operator was profiled in."""

    sweep: str = described("name of the sweep")
    experiment: str = described("name of the experiment")
    case: str = described("ID of the case")
    run: int = described("number of the run within its case, from 1")
    attempt: int | None = described("number of the attempt at the run, from 1")
    host: str = described("hostname of the node")
    framework: str = described("framework of the case")
    framework_version: str | None = described("its version")
    model: str | None = described("network of the case")
    model_options: str = described("options of the network, as JSON")
    task: str | None = described("`inference` or `training`")
    batch_size: int | None = described("batch size of the case")
    case_dtype: str | None = described("dtype of the case")
    execution: str | None = described("execution mode of the case")
    optimizer: str | None = described("optimizer of training, as JSON")
    device_model: str | None = described("model of the GPU, or of the CPU of a case without GPU")
    threads: int | None = described("intra-op threads in effect")


@dataclass(frozen=True)
class Surroundings:
    """What else may explain the times of an operator."""

    idle_power_w: float | None = described("power of the device without work, in the same run and device state")
    power_limit_w: float | None = described(
        "power limit of the GPU: the requested one, otherwise that at the start of the run"
    )
    environment: str = described("packages, nodes, driver, settings and variables of the run, as JSON")


class Column(NamedTuple):
    """A column of the table, with its type in pandas."""

    name: str
    meaning: str
    kind: str  # Int64, float64, boolean or string


_KINDS = {int: "Int64", float: "float64", bool: "boolean"}
_PARTS = (Origin, OperatorRow, WindowReadings, Surroundings)


def columns() -> Iterator[Column]:
    """Yield the columns in the order of the table: of the run, the operator, its power, and the environment."""
    for part in _PARTS:
        hints = typing.get_type_hints(part)
        for field in fields(part):
            yield Column(field.name, field.metadata["meaning"], _kind(hints[field.name]))


def _kind(hint: Any) -> str:
    kinds = [each for each in typing.get_args(hint) or (hint,) if each is not type(None)]
    return _KINDS.get(kinds[0], "string") if len(kinds) == 1 else "string"
