"""Tools report the same device by different names."""

from __future__ import annotations

import pytest

from hpcbench.config.devices.load import load_devices
from hpcbench.config.devices.reported_names import plain


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "xeon gold 6248"),
        ("AMD EPYC 7763 64-Core Processor", "epyc 7763"),
        ("NVIDIA GeForce RTX 3090", "rtx 3090"),
        ("Intel(R) Xeon(R) Platinum 8480+", "xeon platinum 8480+"),
        ("NVIDIA", "nvidia"),
    ],
)
def test_the_plain_form_of_a_name(reported: str, expected: str) -> None:
    assert plain(reported) == expected


@pytest.mark.parametrize(
    ("reported", "short"),
    [
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40"),
        ("A100-PCIE-40GB", "a100-pcie-40"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA L4", "l4"),
        ("Tesla V100-SXM2-16GB", "v100-sxm-16"),
        ("Tesla T4", "t4"),
        ("AMD Instinct MI300X", "mi300x"),
        ("Intel(R) Core(TM) i9-10940X CPU @ 3.30GHz", "core-i9-10940x"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "ryzen-9-7950x"),
        ("rtx 4090", "rtx-4090"),
        ("NVIDIA A100", None),
    ],
)
def test_a_shipped_device_is_found_by_the_name_that_tools_report(reported: str, short: str | None) -> None:
    assert load_devices().short_name(reported) == short
