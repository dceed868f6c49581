"""Seconds that the operators of image networks take by the roofline of a device, summed by component.

The components are the arithmetic of each kind with products, the traffic of activations of each kind, the traffic of
weights, that of the scores of attention, operators on weights alone, the optimizer, launches, and a constant per step.
S. Williams et al., "Roofline", CACM 52 (2009).

The host of a newer device launches faster: the speed of one core grows by 3.5 % a year (J. Hennessy and D. Patterson,
"A new golden age for computer architecture", CACM 62 (2019)). Without this, a step of many launches takes equally long
on all devices, and their order is that of small errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import BFLOAT16, FLOAT16, FLOAT32, GPU, TF32, Device
from hpcbench.predict.devices.threads import thread_fractions
from hpcbench.predict.networks.images.training import calls_of_step, optimizer_bytes, passes_of
from hpcbench.predict.networks.images.versions import FUSED_ATTENTION, versions
from hpcbench.predict.networks.images.workload import KINDS, OTHERS, PRODUCTS, WITH_WEIGHTS, Workload
from hpcbench.predict.operators.tiles import TILE_OF_CORE
from hpcbench.predict.tables.element_bytes import element_bytes
from hpcbench.predict.tables.prediction import Floats

Mask = NDArray[np.bool_]
HALF = ("amp", "float16", "bfloat16")
_DENSE = ("conv1x1", "conv", "linear", "bmm", "attention")  # kinds that matrix units compute
_LAUNCHES = {
    "dense": ("conv1x1", "conv"),
    "grouped": ("grouped", "depthwise"),
    "linear": ("linear", "bmm", "attention"),
    "other": OTHERS,
}
_LARGE = ("conv1x1", "conv", "linear")  # kinds whose weights can exceed the last cache
# Rows, columns and depth of a product that kernels compute at once: a block of threads of a GPU, registers of a core.
_TILES = {True: (64, 64, 32), False: (*TILE_OF_CORE, 1)}  # by whether the device is a GPU
_NARROW = 16  # channels of a group
_LAUNCH_S, _STEP_S = 1e-6, 1e-4  # units of the factors of launches and of a step, in seconds
# _LAUNCH_S is that of a host of _YEAR. How much faster hosts become is an assumption.
_FASTER_PER_YEAR, _YEAR = 1.035, 2020
COMPONENTS = (
    *(f"arithmetic {kind}" for kind in PRODUCTS),
    *(f"traffic {kind}" for kind in KINDS),
    *(f"weights {kind}" for kind in WITH_WEIGHTS),
    *(f"large weights {kind}" for kind in _LARGE),
    *("narrow groups", "scores", "per step", "optimizer", "step"),
    *(f"launches {group}" for group in _LAUNCHES),
)
IS_HOST = np.array([name.startswith("launches") for name in COMPONENTS])


def rooflines(work: Workload, networks: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the seconds of each component, one row per network; zeros for networks without operators."""
    place = work.operators["place"].to_numpy()
    runs = calls_of_step(work.operators, networks)
    rate = rates(networks, devices)
    found: dict[str, Floats] = {
        name: np.bincount(place[mask], (seconds * runs)[mask], minlength=len(networks)).astype(np.float64)
        for name, seconds, mask in _parts(work.operators, rate)
    }
    found["optimizer"] = np.nan_to_num(optimizer_bytes(work, networks)) / rate["bandwidth"].to_numpy()
    found["step"] = _STEP_S * passes_of(networks)
    return np.asarray(np.column_stack([found[name] for name in COMPONENTS]), dtype=np.float64)


def _parts(operators: pd.DataFrame, rate: pd.DataFrame) -> Iterator[tuple[str, Floats, Mask]]:
    """Yield each component with the seconds of one call of each operator, and which operators have it."""
    kind, place = operators["kind"].to_numpy(), operators["place"].to_numpy()
    get = {name: operators[name].to_numpy() for name in operators.columns if name not in ("kind", "place")}
    of = {name: rate[name].to_numpy()[place] for name in rate}
    per_image = get["per_image"] == 1
    dense = np.isin(kind, _DENSE)
    filled = np.where(dense, of["matrix"] * _fill(get, of["is_gpu"]), of["vector"])
    arithmetic = 2 * get["macs"] / filled
    traffic, weights = (get[name] * of["bytes"] / of["bandwidth"] for name in ("elements", "weights"))
    size = get["weights"] * of["bytes"]
    yield from ((f"arithmetic {name}", arithmetic, (kind == name) & per_image) for name in PRODUCTS)
    yield from ((f"traffic {name}", traffic, (kind == name) & per_image) for name in KINDS)
    yield from ((f"weights {name}", weights, (kind == name) & per_image) for name in WITH_WEIGHTS)
    large = weights * size / (size + of["cache"])
    yield from ((f"large weights {name}", large, (kind == name) & per_image) for name in _LARGE)
    yield "narrow groups", arithmetic, (kind == "grouped") & (get["columns"] <= _NARROW) & per_image
    scores = get["groups"] * get["rows"] * get["columns"] * of["bytes"] / of["bandwidth"]
    yield "scores", scores, (kind == "attention") & (of["version"] < FUSED_ATTENTION)
    yield "per step", arithmetic + traffic, ~per_image
    launch = _LAUNCH_S * of["launch"]
    yield from ((f"launches {name}", launch, np.isin(kind, kinds)) for name, kinds in _LAUNCHES.items())


def rates(networks: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return what the device of each row reaches by its description, at the precision of the row.

    The columns are rates of products in matrix units and in vector units, bandwidth and last cache in SI units, the
    bytes of an element, the version of the library, whether matrix units have the precision (`has_matrix`), and the
    time of a launch relative to _YEAR. A device without units for float16 or bfloat16 computes it in float32: libraries
    convert, so that half precision moves as many bytes. The dtype `tf32` is float32 whose products may be computed in
    TF32. CPUs have the rates of the row's number of threads.
    """
    found = [devices[name] for name in networks["device"]]
    half = networks["dtype"].isin(HALF).to_numpy()
    pairs = [(device, _precision(device, dtype)) for device, dtype in zip(found, networks["dtype"], strict=True)]
    compute, memory = thread_fractions(networks, devices)
    has_matrix = np.array([device.has_matrix_units(name) for device, name in pairs], dtype=bool)
    return pd.DataFrame(
        {
            "matrix": compute * np.array([device.flops_per_s(name) for device, name in pairs]),
            "vector": compute * np.array([device.vector_flops_per_s for device in found]),
            "bandwidth": memory * np.array([device.memory_bytes_per_s for device in found]),
            "cache": [device.l2_bytes for device in found],
            "bytes": np.where(half & has_matrix, element_bytes(FLOAT16), element_bytes(FLOAT32)),
            "version": versions(networks["library"]),
            "has_matrix": has_matrix,
            "is_half": half,
            "is_gpu": [device.kind == GPU for device in found],
            "launch": [_FASTER_PER_YEAR ** (_YEAR - device.year) for device in found],
        }
    )


def _precision(device: Device, dtype: str) -> str:
    if dtype in HALF:
        return BFLOAT16 if dtype == BFLOAT16 else FLOAT16
    return TF32 if dtype == TF32 and device.kind == GPU else FLOAT32


def _fill(get: Mapping[str, Floats], is_gpu: Mask) -> Floats:
    """Return the fraction of the tiles that a product fills."""
    fraction = np.ones(len(get["rows"]))
    for name, gpu, cpu in zip(("rows", "columns", "depth"), _TILES[True], _TILES[False], strict=True):
        length, tile = np.maximum(get[name], 1.0), np.where(is_gpu, gpu, cpu)
        fraction *= length / (np.ceil(length / tile) * tile)
    return fraction
