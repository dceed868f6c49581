"""The devices of `--device`: described ones, and measured nodes with one or two kinds of devices."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hpcbench.commands.predict.asked_devices import AskedDevices, asked_devices
from hpcbench.config.devices.load import load_devices
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.errors import UserError
from hpcbench.predict.devices.known import KnownDevices


def peak(device: str, host: str) -> Peak:
    return Peak(device, 8 if device == "cpu" else None, "float32", 1e12, 1e11, "torch", host, "2026-11-30")


def machine(host: str, gpu: str | None) -> MachinePeaks:
    peaks = [peak("cpu", host), *([peak("gpu", host)] if gpu else [])]
    return MachinePeaks("AMD EPYC 7763 64-Core Processor", 8, gpu, tuple(peaks), 2**36, 2**25)


MACHINES = {"with-gpu": machine("n1", "NVIDIA L40S"), "cpus-only": machine("n2", None)}


def ask(names: Sequence[str], *kinds: str, host: str = "login", machines: bool = True) -> AskedDevices:
    known = KnownDevices(load_devices(), MACHINES if machines else {})
    return asked_devices(names, known, frozenset(kinds), host, (), (), search_states=False)


@pytest.mark.parametrize(("kind", "expected"), [("cpu", "cpu"), ("gpu", "gpu")])
def test_the_cases_determine_the_device_of_a_node(kind: str, expected: str) -> None:
    found = ask(["n1"], kind)
    assert {name: device.kind for name, device in found.devices.items()} == {"n1": expected}
    assert found.only == {"n1": kind}


def test_cases_on_both_have_both_devices_of_a_node() -> None:
    found = ask(["n1", "t4"], "cpu", "gpu")
    assert {name: device.kind for name, device in found.devices.items()} == {
        "n1 (CPUs)": "cpu",
        "n1 (GPU)": "gpu",
        "t4": "gpu",
    }
    assert found.only == {"n1 (CPUs)": "cpu", "n1 (GPU)": "gpu"}


def test_several_names_of_one_device_count_once() -> None:
    assert list(ask(["t4", "Tesla T4", "n1", "T4"], "cpu").devices) == ["t4", "n1"]


def test_without_cases_a_node_is_its_gpu() -> None:
    assert ask(["n1"]).devices["n1"].kind == "gpu"
    assert ask(["n2"]).devices["n2"].kind == "cpu"


def test_without_names_this_node_counts_or_all_measured_ones() -> None:
    assert list(ask([], "cpu", host="n2").devices) == ["cpus-only"]
    assert list(ask([], "cpu").devices) == ["with-gpu", "cpus-only"]
    with pytest.raises(UserError, match="no device is given") as error:
        ask([], "cpu", machines=False)
    assert "hpcbench list devices" in error.value.hint
