"""Made-up devices, operators and networks, whose power follows known coefficients."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import BFLOAT16, FLOAT16, Device
from hpcbench.predict.power import device_power
from hpcbench.predict.power.activity import activity, of_lists
from hpcbench.predict.power.jobs.model import JobPower
from hpcbench.predict.power.model import PowerModel
from hpcbench.predict.power.networks import NetworkPower
from hpcbench.predict.power.operators import OperatorPower
from hpcbench.predict.power.power_fleet import PowerFleet
from hpcbench.predict.power.requests.model import RequestPower
from hpcbench.predict.sets.list_files import product_with_bytes
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables import operators as table

ELEMENT = 2


def device(name: str, board_power_w: float = 250.0, scale: float = 1.0) -> Device:
    """Return a device of 100 units, 10 TFLOP/s on vector and 100 TFLOP/s on matrix units, and 1 TB/s."""
    return Device(
        name=name,
        vendor="NVIDIA",
        architecture="Made-up",
        year=2022,
        units=100,
        boost_mhz=1000.0,
        vector_flops_per_s=10e12 * scale,
        memory_bytes=40e9,
        memory_bytes_per_s=1e12 * scale,
        l2_bytes=40e6,
        board_power_w=board_power_w,
        matrix_flops_per_s={FLOAT16: 100e12 * scale, BFLOAT16: 100e12 * scale},
    )


DEVICES = {"card": device("card"), "other": device("other", 400.0, 2.0)}


def operators(names: tuple[str, ...] = ("card",), count: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return products and pointwise operators with times and the powers of the typical device model."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(count):
        m, n, k = (int(2 ** rng.integers(6, 13)) for _ in range(3))
        row = product_with_bytes("linear", 1, m, n, k, ELEMENT)
        if place % 2:
            row = {"kind": table.POINTWISE, "function": "add", "rows": m, "columns": n, "inputs": 2,
                   "flops": float(m * n), "bytes": 3.0 * ELEMENT * m * n}  # fmt: skip
        rows.append({**row, "dtype": "bfloat16", "phase": "forward"})
    each = table.complete(pd.DataFrame(rows))
    found = pd.concat([each.assign(device=name) for name in names], ignore_index=True)
    work = activity(found, DEVICES)
    time_s = (work["product_s"] + 1.3 * work["row_wise_s"] + 3e-6).to_numpy()
    power = device_power.TYPICAL.power(work, time_s, np.ones(len(found)))
    board = found["device"].map(lambda name: DEVICES[name].board_power_w).to_numpy()
    return found.assign(time_s=time_s, power_w=np.minimum(power, 0.9) * board, timing=table.STREAM)


def lists() -> pd.DataFrame:
    """Return the lists of three networks with more and more operators."""
    found = []
    for place, name in enumerate(("small", "medium", "large")):
        rows = operators(count=12 * (place + 1), seed=place + 1)
        found.append(rows[list(table.WORK)].assign(list_id=name, fused_node="", calls=4.0 * (place + 1)))
    return pd.concat(found, ignore_index=True)


def steps(
    names: tuple[str, ...] = ("card",), clocks: tuple[float, ...] = (500, 600, 700, 800, 900, 1000)
) -> pd.DataFrame:
    """Return steps of the networks over clocks, as the typical device model runs them."""
    asked = pd.DataFrame(
        [
            {"device": name, "network": network, "list_id": network, "dtype": "bfloat16", "clock_mhz": clock,
             "batch_size": 8, "phase": "inference", "unit": network_table.STEP}
            for name in names for network in ("small", "medium", "large") for clock in clocks
        ]
    )  # fmt: skip
    found = network_table.complete(asked)
    work = of_lists(lists(), found, DEVICES)
    board = found["device"].map(lambda name: DEVICES[name].board_power_w).to_numpy()
    point = device_power.TYPICAL.run(work, found["clock_mhz"].to_numpy() / 1000.0, np.ones(len(found)))
    watts = point.power * board
    return found.assign(time_s=point.time_s, power_w=watts, energy_j=watts * point.time_s)


def unfitted() -> PowerModel:
    """Return the model without any data: the priors of all coefficients, and wide intervals."""
    return PowerModel(
        PowerFleet({}), OperatorPower(PowerFleet({})), NetworkPower(PowerFleet({})), JobPower(), RequestPower()
    )
