"""Random tables of runs with ties, noise, gaps, odd values and failures, which make wrong conclusions easy."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.collect.table import MetricColumn
from tests.analysis.conftest import MEASURED, SETTINGS, USUAL, WHOLE, Row

METRICS = {
    "metric_rate_it_per_s": MetricColumn("rate", "it/s", "higher"),
    "metric_loss": MetricColumn("loss", "", "lower"),
    "metric_level": MetricColumn("level", "", None),
}
ASKED = (None, None, None, "time", "throughput", "speedup", "peak", "price", "energy", "p50", "rate", "loss")
# Messages, each with one cause, that contain what differs between runs.
CAUSES = (
    "job {n} was killed on node{n}: pid {n}, address 0x{h}",
    "cannot read /scratch/tmp{w}/run-{n}/data.npz after {n} s",
    "ValueError: 2 of {n} tasks left no result (started Nov 2{d} 10:0{d}:11)",
    "the model needs a GPU",
    "out of memory: tried to allocate {n}.{d} GiB on cn{n}.cluster",
)
# The types of these errors in records.
ERROR_TYPES = ("killed", "data", "ValueError", "setup", "killed")
MODELS = ("lstm", "alexnet", "mlp")
AXES: dict[str, tuple[Any, ...]] = {
    "framework": ("pytorch", "jax", "mxnet"),
    "intra_op_threads": (None, 1, 2, 4),
    "batch_size": (1, 8, 64),
    "nodes": (1, 2, 4, 8),
    "task": ("inference", "training"),
    "dtype": ("float32", "bfloat16"),
    "execution": ("eager", "compiled"),
    "inter_op_threads": (1, 2, 4),
    "param_size": (10, 200),
    "param_note": ("a", "b", "c"),
    "model_options": (None, '{"layers": 1}', '{"layers": 2}'),
    "sweep": ("sweep-1", "sweep-2"),
}
OF_COMMANDS = ("batch_size", "nodes", "param_size", "param_note", "sweep")


class Made(NamedTuple):
    """A table of runs, the options of a report, and the cause of each message."""

    repetitions: pd.DataFrame
    metrics: dict[str, MetricColumn]
    asked: str | None
    base: str | None
    causes: dict[str, int]


def random_table(seed: int) -> Made:
    rng = np.random.default_rng(seed)
    commands = rng.random() < 0.3
    causes: dict[str, int] = {}
    points = _points(rng, OF_COMMANDS if commands else tuple(AXES))
    effects = {name: rng.choice([0.0, 0.0, 0.02, 0.3, 1.0, 3.0]) for name in AXES}
    runs = int(rng.choice([1, 2, 3, 4, 6, 8]))
    style = _Style(
        base_s=float(10.0 ** rng.uniform(-5, 2)),
        between=float(rng.choice([0.0, 1e-4, 0.01, 0.1, 1.0])),
        within=float(rng.choice([0.0, 0.01, 0.2])),
        with_interference=float(rng.choice([0.0, 0.0, 0.2, 0.7])),
        unmonitored=float(rng.choice([0.0, 0.0, 0.3])),
        failing=float(rng.choice([0.0, 0.0, 0.2, 0.6, 1.0], p=[0.3, 0.25, 0.25, 0.17, 0.03])),
        scaling=float(rng.uniform(-0.5, 1.3)),
        is_even=bool(rng.random() < 0.5),
    )
    rows: list[Row] = []
    for place, point in enumerate(points):
        count = runs if style.is_even else int(rng.integers(1, runs + 1))
        rows += _case(rng, place, point, count, style, effects, causes, commands=commands)
    whole = [*WHOLE, "intra_op_threads", "inter_op_threads", "effective_intra_op_threads", "param_size"]
    frame = pd.DataFrame(rows).astype(dict.fromkeys(whole, "Int64"))
    if not commands:
        frame["model"] = MODELS[seed % len(MODELS)]
    if commands and seed % 5 == 0:  # no metric with a known direction
        frame = frame.drop(columns=["metric_rate_it_per_s", "metric_loss"], errors="ignore")
    metrics = {name: metric for name, metric in METRICS.items() if name in frame}
    known = [metric.name for metric in metrics.values() if metric.better]
    asked = rng.choice(np.array([*ASKED], dtype=object))
    asked = asked if asked not in ("rate", "loss") or asked in known else None
    measured = frame.loc[frame["status"] == "completed", "case"]
    asks_base = rng.random() < 0.2 and len(measured) and frame["sweep"].nunique() == 1
    base = str(rng.choice(measured)) if asks_base else None
    return Made(frame, metrics, asked, base, causes)


class _Style(NamedTuple):
    base_s: float
    between: float
    within: float
    with_interference: float
    unmonitored: float
    failing: float
    scaling: float
    is_even: bool


def _points(rng: np.random.Generator, names: tuple[str, ...]) -> list[dict[str, Any]]:
    chosen = rng.choice(np.array(names), size=int(rng.integers(0, 4)), replace=False).tolist()
    axes = {name: AXES[name][: int(rng.integers(1, len(AXES[name]) + 1))] for name in chosen}
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    kept = [point for point in points if rng.random() < rng.choice([1.0, 1.0, 0.8])] or points[:1]
    return kept[:16]


def _case(
    rng: np.random.Generator,
    place: int,
    point: dict[str, Any],
    count: int,
    style: _Style,
    effects: dict[str, float],
    causes: dict[str, int],
    *,
    commands: bool,
) -> list[Row]:
    own: Row = {
        **USUAL,
        **SETTINGS,
        "case": f"case-{place}",
        "case_index": place,
        "param_size": None,
        "param_note": None,
    }
    own |= {**point, "interference_causes": None}
    if commands:
        unknown = ("model", "task", "dtype", "math_mode", "parameter_count", "flops_per_item", "items_per_step")
        own |= {**dict.fromkeys(unknown), "framework": "command", "command": "./bench"}
    else:
        own |= _work(own)
    processors = own["nodes"]
    expected = sum(effects[name] * AXES[name].index(value) for name, value in point.items() if name not in ("nodes",))
    time_s = style.base_s * np.exp(-expected) * processors**-style.scaling * (own["batch_size"] ** 0.7)
    time_s *= rng.choice([1.0, 1.0, 1.0, 1.0, 0.0, 1e5], p=[0.3, 0.3, 0.2, 0.18, 0.01, 0.01])
    failure = rng.choice(["failed", "out_of_memory", "timeout", "unsupported", "cancelled"])
    fails = rng.random() < style.failing
    rows = []
    for number in range(count):
        if fails and (number == 0 or rng.random() < 0.7):
            rows.append(_failed(rng, own, number, str(failure), causes))
        else:
            rows.append(_completed(rng, own, number, float(time_s), style, commands=commands))
    return rows


def _work(own: Row) -> Row:
    layers = {None: 1, '{"layers": 1}': 1, '{"layers": 2}': 2}[own["model_options"]]
    more = 3 if own["task"] == "training" else 1
    size = own["param_size"] or 1
    items = own["batch_size"] * own["nodes"]
    threads = own["intra_op_threads"] or 2
    # Options of the same counts are another network, too; a user parameter may change nothing.
    return {
        "parameter_count": 100 * layers if own["param_note"] == "b" else 100,
        "flops_per_item": 200 * more * (size if own["param_note"] == "a" else 1),
        "items_per_step": items,
        "effective_intra_op_threads": threads,
        "cpus_per_task": 4,
    }


def _completed(rng: np.random.Generator, own: Row, number: int, time_s: float, style: _Style, *, commands: bool) -> Row:
    size = 1 if commands else int(rng.choice([1, 3, 12]))
    centre = time_s * rng.lognormal(0, style.between)
    if rng.random() < 0.02:
        centre *= 50
    times = centre * rng.lognormal(0, style.within, size)
    draw = rng.random()
    with_interference = draw < style.with_interference
    unmonitored = not with_interference and draw < style.with_interference + style.unmonitored
    found: Row = {
        "run": number,
        "times_s": times,
        "interference": "interference" if with_interference else "unmonitored" if unmonitored else "clean",
        "interference_causes": "cpu" if with_interference else None,
        "steady": bool(rng.random() < 0.9),
        "drift": float(rng.normal(0, 0.03)),
        "peak_memory_bytes": int(2**20 * (1 + rng.integers(0, 3))),
        **dict.fromkeys(("energy_measured_j", "energy_measured_j_per_item"), _energy(rng, centre, commands=commands)),
        "energy_scope": "cpu",
        "price_per_hour": 2.0,
        "currency": "EUR",
    }
    if commands:
        size = 1 + own["batch_size"]
        found["metric_rate_it_per_s"] = None if rng.random() < 0.1 else size / max(centre, 1e-9)
        found["metric_loss"] = None if rng.random() < 0.1 else float(rng.normal(0, 1))
        found["metric_level"] = float(rng.integers(0, 4))
    return {**own, **found}


def _energy(rng: np.random.Generator, centre: float, *, commands: bool) -> float | None:
    return None if commands or rng.random() < 0.3 else centre * float(rng.lognormal(0, 0.1))


def _failed(rng: np.random.Generator, own: Row, number: int, status: str, causes: dict[str, int]) -> Row:
    kind = int(rng.integers(0, len(CAUSES)))
    letters = "".join(rng.choice(list("abcdefgh"), 8))
    values = {"n": int(rng.integers(10, 10**6)), "h": f"{rng.integers(10**9):08x}", "d": int(rng.integers(0, 9))}
    message = CAUSES[kind].format(w=letters, **values)
    causes[message] = kind
    nothing = {**dict.fromkeys({*MEASURED, "items_per_step"}), "times_s": np.array(())}
    return {**own, **nothing, "run": number, "status": status, "error": message}
