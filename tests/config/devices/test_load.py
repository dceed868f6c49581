"""Files of devices: errors with file, line and key, and own files over the shipped ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.devices.load import load_devices
from hpcbench.config.devices.table import DeviceTable
from hpcbench.errors import UserError
from hpcbench.util.package_data import shipped
from tests.config.devices.conftest import written

Parse = Callable[..., DeviceTable]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"units": "0"}, "mine.yaml:6: devices.mine.units: 0 is not valid"),
        ({"units": "-4"}, "greater than or equal to 1"),
        ({"memory_gb": "0"}, "mine.yaml:11: devices.mine.memory_gb: 0 is not valid"),
        ({"board_power_w": "-250"}, "greater than 0"),
        ({"vendor": None}, "mine.yaml:2: devices.mine: 'devices.mine.vendor' is missing"),
        ({"l2_mb": None}, "'devices.mine.l2_mb' is missing"),
        ({"memory_gb": "forty"}, "'forty' is not valid"),
        ({"fp32_gflops": "19500"}, "devices.mine.fp32_gflops: unknown key 'fp32_gflops'\n  did you mean 'fp32_tflops'"),
        ({"tdp": "250"}, "did you mean 'board_power_w'?"),
        ({"sms": "108"}, "did you mean 'units'?"),
        ({"fp16_tflops": "312"}, "matrix_tflops: {float32, tf32, float16, bfloat16, float8, int8}"),
        ({"matrix_tflops": "{fp16: 312}"}, "unknown key 'fp16'"),
        ({"matrix_tflops": "{tf32: 0}"}, "devices.mine.matrix_tflops.tf32: 0 is not valid"),
        ({"kind": "tpu"}, "devices.mine.kind"),
        ({"board_power_w": "250\n    l2_mb: 50"}, "duplicate key 'l2_mb'"),
    ],
)
def test_a_wrong_device_is_refused_with_its_place(parse: Parse, changed: dict[str, str | None], words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(**changed)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", [[], ["  mine: 3\n"], [written("two words")]])
def test_a_file_needs_named_devices(parse: Parse, text: list[str]) -> None:
    with pytest.raises(UserError, match="devices"):
        parse(*text) if text else parse("  {}\n")


def test_all_errors_of_a_file_are_reported(parse: Parse) -> None:
    with pytest.raises(UserError) as caught:
        parse(written("one", memory_gb_per_s="1.555"), written("two", boost_mhz="1.41"))
    assert [finding.where for finding in caught.value.findings] == [
        "mine.yaml:12: devices.one.memory_gb_per_s",
        "mine.yaml:21: devices.two.boost_mhz",
    ]


def test_two_devices_must_not_have_the_same_name(parse: Parse) -> None:
    with pytest.raises(UserError, match=r"'NVIDIA X 40GB' is also the name of the device 'one'\n  mine.yaml:2 has"):
        parse(written("one", names="[X-40GB]"), written("two", names="[NVIDIA X 40GB]"))


def test_an_unknown_device_is_refused_with_near_names() -> None:
    with pytest.raises(UserError, match="device 'a100' not found\n  did you mean one of a100-pcie-40, a100-pcie-80"):
        load_devices().find("a100")
    with pytest.raises(UserError, match="did you mean 'rtx-4090'"):
        load_devices().find("RTX 409O")
    with pytest.raises(UserError, match="configs/devices of your workspace"):
        load_devices().find("abacus")


def test_an_own_file_adds_devices_and_changes_keys_of_shipped_ones(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("devices:\n  a100-pcie-40: {board_power_w: 200}\n" + written("mine", names="[NVIDIA L4]"))
    before, table = load_devices(), load_devices([file])
    assert table.find("NVIDIA A100-PCIE-40GB").board_power_w == 200
    assert table.find("a100-pcie-40").model_copy(update={"board_power_w": 250}) == before.find("a100-pcie-40")
    assert table.short_name("NVIDIA L4") == "mine", "names of own devices come first"
    assert table.short_name("l4") == "l4"
    assert set(table) == {*before, "mine"}


def test_a_wrong_key_of_a_changed_device_is_located_in_the_own_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("devices:\n  a100-pcie-40: {memory_gb_per_s: 1.555}\n")
    with pytest.raises(UserError, match=r"mine\.yaml:2: devices\.a100-pcie-40\.memory_gb_per_s"):
        load_devices([file])


def test_the_shipped_files_as_own_files_change_nothing() -> None:
    assert load_devices((shipped("configs") / "devices").glob("*.yaml")) == load_devices()
