"""A fleet of two GPUs with operators and networks whose times follow from one efficiency, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables import lists as list_table
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate

FLOPS_PER_S, BYTES_PER_S = 10e12, 500e9


def device(name: str, vendor: str = "NVIDIA", year: int = 2018, **changes: Any) -> Device:
    """Return a GPU with 10 TFLOP/s, 500 GB/s, and ample board power for its rate."""
    found: dict[str, Any] = {
        "name": name,
        "vendor": vendor,
        "architecture": "test",
        "year": year,
        "units": 80,
        "boost_mhz": 1000.0,
        "vector_flops_per_s": FLOPS_PER_S,
        "memory_bytes": 16e9,
        "memory_bytes_per_s": BYTES_PER_S,
        "l2_bytes": 4e6,
        "board_power_w": 900.0,
        "process_nm": 7.0,
    }
    return Device(**{**found, **changes})


FIRST, SECOND = device("first"), device("second", year=2020)
DEVICES = {"first": FIRST, "second": SECOND}


class Constant:
    """A model of operators: the same time for each, and a reason for those of unknown kind.

    Without a device, it is `unseen_s`.
    """

    def __init__(self, seconds: float = 1e-3, unseen_s: float | None = None) -> None:
        self.seconds, self.unseen_s = seconds, unseen_s

    @property
    def model(self) -> Constant:
        """Return this model."""
        return self

    def without(self, device: str) -> Constant:
        """Return the model without a device."""
        return Constant(self.unseen_s or self.seconds)

    def estimate(self, operators: pd.DataFrame, devices: dict[str, Device], in_stream: bool) -> Estimate:
        """Return the constant time."""
        unknown = (operators["kind"] == table.UNKNOWN).to_numpy()
        return Estimate(
            np.where(unknown, np.nan, np.log(self.seconds)),
            np.full(len(operators), 0.2),
            np.where(unknown, "operator of unknown kind", "").astype(object),
        )


def gemm(m: int, n: int, k: int, **more: Any) -> dict[str, Any]:
    """Return the columns of a product in float32."""
    found = {"kind": table.GEMM, "function": "linear", "dtype": "float32", "phase": "forward"}
    sizes = {"batch": 1, "m": m, "n": n, "k": k, "flops": 2.0 * m * n * k, "bytes": 4.0 * (m * k + k * n + m * n)}
    return {**found, **sizes, **more}


def row_wise(rows: int, columns: int, inputs: int = 1, **more: Any) -> dict[str, Any]:
    """Return the columns of a pointwise operator in float32; `kind` and `function` can be replaced."""
    found = {"kind": table.POINTWISE, "function": "add", "dtype": "float32", "phase": "forward"}
    moved = 4.0 * (inputs + 1) * rows * columns
    sizes = {"rows": rows, "columns": columns, "inputs": inputs, "flops": float(rows * columns), "bytes": moved}
    return {**found, **sizes, **more}


def a_list(name: str, *rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table of lists with one list; `calls` is 1 and `fused_node` empty by default."""
    origin = [{"list_id": name, "fused_node": row.get("fused_node", ""), "calls": row.get("calls", 1)} for row in rows]
    work = table.complete(pd.DataFrame(list(rows)))[list(table.WORK)]
    return pd.concat([pd.DataFrame(origin), work], axis=1)[list(list_table.COLUMNS)]


def some_networks(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table of networks: inference in float32 in eager mode by default."""
    default = {"phase": "inference", "execution": "eager", "dtype": "float32", "unit": "step"}
    return network_table.complete(pd.DataFrame([{**default, **row} for row in rows]))


def some_operators(device_name: str, efficiency: float, count: int = 60) -> pd.DataFrame:
    """Return products of whole tiles in a stream on a device, each at this efficiency of the sustained rate."""
    found = [gemm(2048 + 64 * i, 2048, 2048) for i in range(count)]
    rows = table.complete(pd.DataFrame(found)).assign(device=device_name, timing=table.STREAM)
    return rows.assign(time_s=product_s(rows["flops"], 2048) / efficiency)


def product_s(flops: Any, k: int) -> Any:
    """Return the seconds of products of whole tiles at the sustained rate: 32 more steps over k than at the peak."""
    return flops / FLOPS_PER_S * (1 + 32 / k)
