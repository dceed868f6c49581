from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.devices.load import with_devices
from hpcbench.config.devices.table import DeviceTable
from hpcbench.config.yaml_document import parse_yaml

KEYS = {
    "vendor": "NVIDIA",
    "architecture": "Ampere",
    "year": "2020",
    "units": "108",
    "lanes_per_unit": "64",
    "boost_mhz": "1410",
    "fp32_tflops": "19.5",
    "matrix_tflops": "{tf32: 156, float16: 312}",
    "memory_gb": "40",
    "memory_gb_per_s": "1555",
    "l2_mb": "40",
    "board_power_w": "250",
}


def written(name: str = "mine", **changed: str | None) -> str:
    """Return the YAML of a device; each key is on its own line, from the line of the device on. None: left out."""
    keys = {key: value for key, value in {**KEYS, **changed}.items() if value is not None}
    return "\n".join([f"  {name}:", *(f"    {key}: {value}" for key, value in keys.items()), ""])


@pytest.fixture
def parse() -> Callable[..., DeviceTable]:
    """Return a function that parses a file with one device, whose keys are changed, or with several devices."""

    def parsed(*devices: str, **changed: str | None) -> DeviceTable:
        text = "devices:\n" + "".join(devices or [written(**changed)])
        return with_devices([parse_yaml(text, "mine.yaml")])

    return parsed
