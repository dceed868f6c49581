"""Small tables of made-up operators on made-up devices, whose times follow a known law."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables import operators as table
from hpcbench.predict.time.fitting import fit_with_left_out
from hpcbench.predict.time.model import OperatorTime

FLOOR_S, EVENTS_S = 30e-6, 17e-6


def device(name: str, scale: float = 1.0, **changes: object) -> Device:
    """Return a device with rates that are `scale` times those of a common card, and ample power."""
    values = {
        "vendor": "NVIDIA",
        "architecture": "Made-up",
        "year": 2020,
        "units": int(80 * scale),
        "boost_mhz": 1400.0,
        "vector_flops_per_s": 14e12 * scale,
        "memory_bytes": 16e9,
        "memory_bytes_per_s": 900e9 * scale,
        "l2_bytes": 6e6,
        "board_power_w": 1e6,
        "process_nm": 12.0,
        "matrix_flops_per_s": MappingProxyType({"float16": 112e12 * scale}),
        **changes,
    }
    return Device(name=name, **values)  # type: ignore[arg-type]


DEVICES = {name: device(name, scale) for name, scale in (("small", 0.5), ("middle", 1.0), ("large", 2.0))}


def products(devices: dict[str, Device], count: int, slowness: float = 1.5, seed: int = 0) -> pd.DataFrame:
    """Return products that take `slowness` times their compute-bound time, timed as calls."""
    draw = np.random.default_rng(seed)
    size = 64 * 2 ** draw.integers(0, 6, (count, 3)) * 1.0
    frames = []
    for name, each in devices.items():
        m, n, k = size.T
        flops, moved = 2 * m * n * k, 4 * (m * k + k * n + m * n)
        kernel = slowness * np.maximum(flops / each.vector_flops_per_s, moved / each.memory_bytes_per_s)
        frames.append(
            pd.DataFrame(
                {
                    "device": name, "kind": table.GEMM, "function": "linear", "dtype": "float32", "timing": table.CALL,
                    "batch": 1.0, "m": m, "n": n, "k": k, "flops": flops, "bytes": moved,
                    "time_s": np.maximum(FLOOR_S, kernel + EVENTS_S),
                }
            )
        )  # fmt: skip
    return table.complete(pd.concat(frames, ignore_index=True))


def fit(rows: pd.DataFrame, devices: dict[str, Device]) -> OperatorTime:
    """Return the model fitted on rows."""
    return fit_with_left_out(rows, devices).model
