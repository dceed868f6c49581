"""The formats of data sets: which file has which columns and targets (docs/reference/predictor-data.md)."""

from __future__ import annotations

from dataclasses import dataclass

from hpcbench.predict.tables.networks import EPOCH, REQUEST, STEP

OPERATORS, NETWORKS, LISTS, DEVICES = "operators", "networks", "lists", "devices"


@dataclass(frozen=True)
class Target:
    """A column of measured values, the quantity in SI units that it is, and the size of its unit."""

    column: str
    quantity: str
    unit: float


@dataclass(frozen=True)
class Format:
    """Files whose names begin with `stem`: their required columns, and the columns that predictions are for.

    Each element of `required` is a name, or alternatives, of which one must exist. `unit` is what a row of networks is.
    """

    stem: str
    rows: str
    required: tuple[str | tuple[str, ...], ...]
    targets: tuple[Target, ...] = ()
    unit: str = STEP


_MILLI = 1e-3
LATENCY = Target("latency_ms", "time_s", _MILLI)
TIME_MS = Target("time_ms", "time_s", _MILLI)
POWER = Target("power_w", "power_w", 1.0)
ENERGY = Target("energy_j", "energy_j", 1.0)
_OPERATOR = ("device", "op", "dtype", "flops", "bytes")
_NETWORK = ("device", "network")
_LISTED = (*_NETWORK, "phase", "dtype", "batch_size", "sequence_length", "graph")

FORMATS = (
    Format("operators_time", OPERATORS, _OPERATOR, (LATENCY,)),
    Format("operators_power", OPERATORS, _OPERATOR, (LATENCY, POWER, Target("energy_mj", "energy_j", _MILLI))),
    Format(
        "networks_time_transformers",
        NETWORKS,
        _LISTED,
        (TIME_MS, Target("forward_ms", "forward_s", _MILLI), Target("backward_ms", "backward_s", _MILLI)),
    ),
    Format(
        "networks_time",
        NETWORKS,
        (*_NETWORK, "phase", "batch_size", "image_size", ("dtype", "precision")),
        (TIME_MS,),
    ),
    Format("networks_energy_inference", NETWORKS, (*_LISTED, "clock_mhz"), (TIME_MS, POWER, ENERGY)),
    Format(
        "networks_energy_training",
        NETWORKS,
        (*_NETWORK, "dataset", "batch_size", "optimizer", "power_limit_w"),
        (Target("time_per_epoch_s", "time_s", 1.0), POWER, Target("energy_per_epoch_j", "energy_j", 1.0)),
        EPOCH,
    ),
    Format(
        "networks_energy_llm",
        NETWORKS,
        (*_NETWORK, "framework", "input_tokens", "output_tokens", "batch_size", "devices"),
        (Target("time_s", "time_s", 1.0), Target("power_mw", "power_w", _MILLI), ENERGY),
        REQUEST,
    ),
    Format("networks_operators", LISTS, ("graph", "phase", "op", "shape", "fused", "fused_node", "count")),
    Format("networks_operators_bf16", LISTS, ("graph", "op", "parameters", "count")),
    Format(
        "devices",
        DEVICES,
        (
            *("device", "vendor", "architecture", "year", "units", "boost_mhz", "fp32_gflops"),
            *("memory_gb", "memory_gb_per_s", "l2_mb", "board_power_w"),
        ),
    ),
)
_LONGEST_FIRST = sorted(FORMATS, key=lambda format_: -len(format_.stem))

# Shape columns of each operator.
_ROW_WISE = ("add", "mul", "div", "pow", "addu", "mulu", "divu", "powu", "relu", "gelu", "tanh", "softmax")
SHAPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("linear", "bmm"), ("b", "m", "n", "k")),
    "conv2d": ("b", "c_in", "c_out", "kernel", "size", "stride", "padding"),
    **dict.fromkeys((*_ROW_WISE, "layer_norm"), ("b", "h")),
    "attention_context": ("b", "sequence", "heads", "kv_heads", "head_dim"),
    "attention_generation": ("b", "cached_tokens", "heads", "kv_heads", "head_dim"),
}
_SHAPE_COLUMNS = tuple(dict.fromkeys(name for names in SHAPES.values() for name in names))

# Columns of numbers in any format.
NUMBERS = (
    *_SHAPE_COLUMNS,
    *("flops", "bytes", "batch_size", "sequence_length", "image_size", "input_tokens", "output_tokens"),
    *("mparams", "gmacs", "mactivations", "clock_mhz", "power_limit_w", "count", "devices"),
    *("year", "units", "boost_mhz", "fp32_gflops", "matrix_fp32_gflops", "matrix_fp16_gflops", "matrix_fp8_gflops"),
    *("memory_gb", "memory_gb_per_s", "l2_mb", "board_power_w", "process_nm"),
    *dict.fromkeys(target.column for format_ in FORMATS for target in format_.targets),
)


def format_of(stem: str) -> Format | None:
    """Return the format of a file by its name without suffix; None if the name is unknown."""
    return next((format_ for format_ in _LONGEST_FIRST if stem.startswith(format_.stem)), None)


def known_names() -> str:
    """Return the beginnings of the names of files, for a message."""
    return ", ".join(f"{format_.stem}*" for format_ in FORMATS)
