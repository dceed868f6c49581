"""The devices on which the cases of a sweep run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hpcbench.commands.shared.predictions.case_devices import Find, devices_of, named, of_machine
from hpcbench.commands.shared.predictions.partition_devices import of_partitions
from hpcbench.config.devices.load import load_devices
from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import Site, load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.machine_peaks import MachinePeaks
from hpcbench.doctor.this_machine import ThisMachine
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.plan.plan import make_plan
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.slurm import nodes
from tests.predict.devices.test_known import node

EPYC, A100 = "AMD EPYC 7763 64-Core Processor", "NVIDIA A100-PCIE-40GB"
MACHINES = {"with-gpu": node("n1", EPYC, A100, cores=128), "without": node("n2", "Some CPU", None)}
KNOWN = KnownDevices(load_devices(), MACHINES)
NOTHING = KnownDevices(load_devices(), {})


def plan_of(site: str, **sections: Any) -> tuple[Sequence[Case], Site]:
    parameters = {"framework": "pytorch", "model": "mlp", **sections.pop("parameters", {})}
    document = parse_yaml(json.dumps({"name": "trial", "parameters": parameters, **sections}), "trial.yaml")
    loaded = load_site(parse_yaml(site, "site.yaml"))
    return make_plan(load_experiment(document), document, loaded).cases, loaded


def cases(*devices: str, **sections: Any) -> Sequence[Case]:
    return plan_of("name: here\nscheduler: local\n", matrix={"device": list(devices)}, **sections)[0]


def found(find: Find, *devices: str) -> list[str]:
    devices_found = devices_of(cases(*devices), find)
    return list(devices_found.names.values())


@pytest.mark.parametrize(
    ("names", "devices", "expected"),
    [
        (["h100-sxm"], ["gpu"], ["h100-sxm"]),
        (["h100-sxm", "epyc-7763"], ["cpu", "gpu"], ["epyc-7763", "h100-sxm"]),
        (["h100-sxm", "l4"], ["gpu"], ["h100-sxm"]),
        (["n1"], ["cpu", "gpu"], ["n1", "a100-pcie-40"]),
        (["n2", "l4"], ["gpu", "cpu"], ["l4", "n2"]),
    ],
)
def test_a_case_is_predicted_on_the_first_named_device_of_its_kind(
    names: list[str], devices: list[str], expected: list[str]
) -> None:
    assert found(named(names, KNOWN), *devices) == expected


def test_an_unknown_name_and_a_missing_kind_are_errors() -> None:
    with pytest.raises(UserError, match="device 'h101' not found"):
        named(["l4", "h101"], KNOWN)
    with pytest.raises(UserError, match="no device of 'l4' is a CPU, but cases have device: cpu"):
        found(named(["l4"], KNOWN), "cpu")


def test_this_machine_is_its_measured_node() -> None:
    assert found(of_machine(ThisMachine(EPYC, 128, A100), KNOWN), "cpu", "gpu") == ["with-gpu", "a100-pcie-40"]
    assert found(of_machine(ThisMachine("Some CPU", 8, None), KNOWN), "cpu") == ["without"]


def test_a_machine_that_was_not_measured_is_described_by_its_models() -> None:
    assert found(of_machine(ThisMachine(EPYC, 64, A100), NOTHING), "cpu", "gpu") == ["epyc-7763", "a100-pcie-40"]


@pytest.mark.parametrize(
    ("machine", "device", "what"),
    [
        (ThisMachine("Some CPU", 8, None), "cpu", "the CPU of this machine, 'Some CPU', has no description"),
        (ThisMachine(EPYC, 64, "GPU of Tomorrow"), "gpu", "the GPU of this machine, 'GPU of Tomorrow', has no"),
        (ThisMachine(EPYC, 64, None), "gpu", "no GPU was found on this machine"),
    ],
)
def test_an_unknown_device_is_an_error_that_says_what_to_do(machine: ThisMachine, device: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        found(of_machine(machine, NOTHING), device)
    assert what in str(caught.value)
    assert "--predict-device NAME" in str(caught.value)


def test_cases_with_an_unknown_device_have_the_reason_if_others_are_known() -> None:
    two = cases("cpu", "gpu")
    devices = devices_of(two, of_machine(ThisMachine(EPYC, 64, None), NOTHING))
    assert devices.names == {two[0].id: "epyc-7763"}
    assert list(devices.devices) == ["epyc-7763"]
    assert "no GPU" in devices.unknown[two[1].id].what


def test_commands_need_no_device() -> None:
    document = parse_yaml("name: trial\nparameters: {framework: command, command: 'true'}", "trial.yaml")
    site = load_site(parse_yaml("name: here\nscheduler: local\n", "site.yaml"))
    commands = make_plan(load_experiment(document), document, site).cases
    devices = devices_of(commands, of_machine(ThisMachine("Some CPU", 8, None), NOTHING))
    assert (devices.names, devices.unknown) == ({}, {})


SINFO = """n1|gpu|128|gpu:a100:4(S:0-1)|idle|none
n2|cpu*|8|(null)|idle|none
n3|new|8|gpu:h100-sxm:8,license:2|idle|none
n4|mixed|8|gpu:l4:1|idle|none
n5|mixed|8|gpu:t4:1|down|none
n6|unknown|8|gpu:2|idle|none
n1|pair|128|gpu:a100:4(S:0-1)|idle|none
n7|pair|128|gpu:a100:4|idle|none
n8|three|128|gpu:h100-sxm:8|idle|none
n1|three|128|gpu:a100:4(S:0-1)|idle|none
"""
CLUSTER = (
    "name: there\nscheduler: slurm\npartitions: {gpu: {}, cpu: {default: true}, new: {}, mixed: {}, unknown: {},"
    " pair: {}, three: {}}\n"
)


def on_cluster(
    monkeypatch: pytest.MonkeyPatch, device: str, known: KnownDevices = KNOWN, **slurm: Any
) -> tuple[str, list[list[str]]]:
    """Return the device of a case, and the commands of Slurm that were called."""
    called: list[list[str]] = []

    def output_of(command: list[str], cluster: str | None) -> list[str]:
        called.append(command)
        return SINFO.splitlines()

    monkeypatch.setattr(nodes, "output_of", output_of)
    both, site = plan_of(CLUSTER, parameters={"device": device}, matrix={"batch_size": [1, 2]}, slurm=slurm)
    devices = devices_of(both, of_partitions(site, known))
    (name,) = {*devices.names.values()}
    return name, called


@pytest.mark.parametrize(
    ("device", "slurm", "expected"),
    [
        ("gpu", {"partition": "gpu"}, "a100-pcie-40"),
        ("cpu", {"partition": "gpu"}, "with-gpu"),
        ("cpu", {}, "without"),
        ("gpu", {"partition": "new"}, "h100-sxm"),
        ("gpu", {"partition": "mixed", "nodelist": "n[5-6]"}, "t4"),
        ("gpu", {"partition": "mixed", "exclude": "n5"}, "l4"),
        ("gpu", {"partition": "mixed", "gpu_type": "h200"}, "h200"),
        ("gpu", {"partition": "pair"}, "a100-pcie-40"),
    ],
)
def test_a_case_on_slurm_has_the_device_of_its_nodes(
    monkeypatch: pytest.MonkeyPatch, device: str, slurm: dict[str, Any], expected: str
) -> None:
    name, called = on_cluster(monkeypatch, device, **slurm)
    assert name == expected
    assert len(called) <= 1, "Slurm is asked once for all cases"


@pytest.mark.parametrize(
    ("device", "slurm", "what", "hint"),
    [
        ("gpu", {"partition": "mixed"}, "partition 'mixed' has several devices: l4, t4", "--predict-device"),
        ("gpu", {"partition": "three"}, "partition 'three' has several devices: a100-pcie-40, h100-sxm", "--predict"),
        ("gpu", {"partition": "unknown"}, "the device of partition 'unknown' is unknown", "hpcbench doctor --on-node"),
        ("cpu", {"partition": "new"}, "the device of partition 'new' is unknown", "--predict-device"),
    ],
)
def test_an_unknown_or_ambiguous_partition_is_an_error(
    monkeypatch: pytest.MonkeyPatch, device: str, slurm: dict[str, Any], what: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        on_cluster(monkeypatch, device, **slurm)
    assert what in str(caught.value)
    assert hint in str(caught.value)


def test_without_sinfo_only_the_case_can_name_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str], cluster: str | None) -> list[str]:
        raise UserError("sinfo: not found")

    monkeypatch.setattr(nodes, "output_of", fails)
    for slurm, expected in (({"gpu_type": "l4"}, "l4"), ({}, None)):
        own, site = plan_of(CLUSTER, parameters={"device": "gpu"}, slurm=slurm)
        if expected:
            assert list(devices_of(own, of_partitions(site, KNOWN)).names.values()) == [expected]
        else:
            with pytest.raises(UserError, match="the device of partition 'cpu' is unknown: sinfo: not found"):
                devices_of(own, of_partitions(site, KNOWN))


def test_peaks_of_a_machine_are_of_its_type() -> None:
    assert MachinePeaks(EPYC, 128, A100, ())[:3] == ThisMachine(EPYC, 128, A100)
