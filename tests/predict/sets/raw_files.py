"""Small made-up files in the formats of docs/reference/predictor-data.md."""

from __future__ import annotations

import pandas as pd


def devices(**changes: object) -> pd.DataFrame:
    """Return two made-up GPUs and a CPU; `changes` are of the first GPU."""
    first = {
        "device": "GPU A",
        "vendor": "NVIDIA",
        "architecture": "One",
        "year": 2020,
        "process_nm": 7,
        "units": 100,
        "cores": 6400,
        "boost_mhz": 1500,
        "fp32_gflops": 19_200,
        "matrix_fp32_gflops": 150_000,
        "matrix_fp16_gflops": 300_000,
        "matrix_fp8_gflops": None,
        "memory_gb": 40,
        "memory_gb_per_s": 1500,
        "l2_mb": 40,
        "board_power_w": 250,
        "aliases": "A; GPU-A",
    }
    second = {**first, "device": "GPU B", "year": 2016, "units": 50, "fp32_gflops": 9000, "memory_gb_per_s": 700}
    second |= {"matrix_fp32_gflops": None, "matrix_fp16_gflops": 18_000, "l2_mb": 4, "aliases": None}
    cpu = {**second, "device": "Intel Core i1", "vendor": "Intel", "units": 8, "fp32_gflops": 1000}
    cpu |= {"matrix_fp16_gflops": None, "memory_gb_per_s": 60, "boost_mhz": 4000, "board_power_w": 100}
    return pd.DataFrame([{**first, **changes}, second, cpu])


def operators() -> pd.DataFrame:
    """Return one row of each kind of operator on GPU A, with times."""
    common = {"device": "GPU A", "dtype": "float32", "source": "made up"}
    rows = [
        {"op": "linear", "b": 2, "m": 8, "n": 16, "k": 4, "flops": 2048, "bytes": 4 * (64 + 64 + 256)},
        {"op": "bmm", "b": 2, "m": 8, "n": 16, "k": 4, "flops": 2048, "bytes": 4 * 2 * (32 + 64 + 128)},
        {
            "op": "conv2d", "b": 2, "c_in": 3, "c_out": 8, "kernel": 3, "size": 16, "stride": 2, "padding": 1,
            "flops": 2 * 2 * 8 * 64 * 27, "bytes": 4 * (2 * 3 * 256 + 8 * 27 + 2 * 8 * 64),
        },
        {"op": "addu", "b": 10, "h": 100, "flops": 1000, "bytes": 8000},
        {"op": "add", "b": 10, "h": 100, "flops": 1000, "bytes": 12_000},
        {"op": "softmax", "b": 10, "h": 100, "flops": 1000, "bytes": 8000},
        {
            "op": "attention_generation", "b": 4, "cached_tokens": 99, "heads": 8, "kv_heads": 2, "head_dim": 64,
            "flops": 4 * 4 * 8 * 100 * 64, "bytes": 2 * 2 * 4 * 2 * 100 * 64, "dtype": "fp8",
            "source": "aiconfigurator",
        },
    ]  # fmt: skip
    return pd.DataFrame([{**common, "latency_ms": 0.1 * (place + 1), **row} for place, row in enumerate(rows)])


def torchvision() -> pd.DataFrame:
    """Return inference and training of one image network on both GPUs."""
    common = {"network": "resnet18", "dtype": "float16", "batch_size": 12, "image_size": 224}
    rows = [("GPU A", "inference", 3.0), ("GPU B", "inference", 9.0), ("GPU A", "training", 11.0)]
    return pd.DataFrame([{**common, "device": name, "phase": phase, "time_ms": ms} for name, phase, ms in rows])


def requests() -> pd.DataFrame:
    """Return two batches of requests to a language model on GPU A."""
    common = {"network": "net-7b", "device": "GPU A", "devices": 1, "framework": "made up", "input_tokens": 512}
    rows = [(1, 4.0, 200_000), (8, 6.0, 220_000)]
    columns = ["batch_size", "time_s", "power_mw"]
    return pd.DataFrame(rows, columns=columns).assign(**common, output_tokens=256)


def neusight_list() -> pd.DataFrame:
    """Return an operator list of four operators, two of them in one kernel."""
    rows = [
        ("Linear", "[16, 64, 32]", False, None, 2),
        ("BMM", "[4, 8, 16, 32]", False, None, 1),
        ("VECmulu", "[128, 64]", True, "one~two", 1),
        ("VECsoftmax", "[128, 64]", True, "one~two", 1),
    ]
    columns = ["op", "shape", "fused", "fused_node", "count"]
    return pd.DataFrame(rows, columns=columns).assign(graph="net-inf-8-1", phase="forward")


def transformers() -> pd.DataFrame:
    """Return inference and training of one transformer on GPU A."""
    common = {"network": "net", "device": "GPU A", "dtype": "float32", "sequence_length": 8, "graph": "net-inf-8-1"}
    rows = [("inference", 1, 5.0, 5.0, None), ("training", 1, 15.0, 5.0, 10.0)]
    columns = ["phase", "batch_size", "time_ms", "forward_ms", "backward_ms"]
    return pd.DataFrame(rows, columns=columns).assign(**common)


def folder() -> dict[str, pd.DataFrame]:
    """Return the files of a small folder."""
    return {
        "devices.csv": devices(),
        "operators_time.csv": operators(),
        "networks_time_torchvision.csv": torchvision(),
        "networks_time_transformers.csv": transformers(),
        "networks_operators.csv": neusight_list(),
    }
