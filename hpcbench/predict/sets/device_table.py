"""Read `devices.csv`: one data sheet per row, in the units of its columns."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT8, FLOAT16, FLOAT32, GPU, TF32, Device

_MIB, _GB, _GIGA = 2**20, 1e9, 1e9
_FIRST_BFLOAT16 = 2020  # NVIDIA's and AMD's matrix units have bfloat16 from this year on
_CPU_VENDORS = ("Intel",)


def devices(table: pd.DataFrame) -> dict[str, Device]:
    """Return the devices of a table by each of their names and aliases."""
    found = [_device(row) for row in table.to_dict("records")]
    return {name: device for device in found for name in device.names}


def _device(row: dict[Any, Any]) -> Device:
    matrix = {
        _float32_of(row): _number(row, "matrix_fp32_gflops"),
        FLOAT16: _number(row, "matrix_fp16_gflops"),
        BFLOAT16: _number(row, "matrix_fp16_gflops") if row["year"] >= _FIRST_BFLOAT16 else None,
        FLOAT8: _number(row, "matrix_fp8_gflops"),
    }
    return Device(
        name=row["device"],
        vendor=row["vendor"],
        architecture=row["architecture"],
        year=int(row["year"]),
        units=int(row["units"]),
        boost_mhz=float(row["boost_mhz"]),
        vector_flops_per_s=row["fp32_gflops"] * _GIGA,
        memory_bytes=row["memory_gb"] * _GB,
        memory_bytes_per_s=row["memory_gb_per_s"] * _GB,
        l2_bytes=row["l2_mb"] * _MIB,
        board_power_w=float(row["board_power_w"]),
        kind=CPU if row["vendor"] in _CPU_VENDORS else GPU,
        matrix_flops_per_s={name: rate * _GIGA for name, rate in matrix.items() if rate is not None},
        process_nm=_number(row, "process_nm"),
        aliases=tuple(
            part.strip() for part in str(row.get("aliases") or "").split(";") if part.strip() not in ("", "nan")
        ),
        source="devices.csv",
    )


def _float32_of(row: dict[Any, Any]) -> str:
    """Return the precision of `matrix_fp32_gflops`: TF32 on NVIDIA's matrix units, float32 on AMD's."""
    return TF32 if row["vendor"] == "NVIDIA" else FLOAT32


def _number(row: dict[Any, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None or math.isnan(value) else float(value)
