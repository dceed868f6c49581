"""NVIDIA's GPUs, with a fake pynvml: there is none on the machines that test."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hpcbench.node.monitor.power_sensors import SENSORS
from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.nvidia import Nvidia, NvidiaEnergy, NvidiaProcesses
from hpcbench.node.monitor.throttle_reasons import HARDWARE_THERMAL, POWER_CAP
from tests.node.host.test_gpus import FakeCuda, FakeCudaWithParts, install

NOT_SUPPORTED, GPU_IS_LOST = 3, 15


class Card:
    """What the fake driver tells of one GPU; a value that is None is not supported."""

    def __init__(self, number: int, **told: Any) -> None:
        self.uuid = f"GPU-0000000{number}-aaaa"
        self.told = {
            "nvmlDeviceGetUUID": self.uuid,
            "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlDeviceGetEnforcedPowerLimit": 700000,
            "nvmlDeviceGetMigMode": [0, 0],
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=87, memory=20),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 << 30, used=3 << 30, free=77 << 30),
            "nvmlDeviceGetClockInfo": 1755,
            "nvmlDeviceGetTemperature": 63,
            "nvmlDeviceGetCurrentClocksThrottleReasons": POWER_CAP | HARDWARE_THERMAL,
            "nvmlDeviceGetPowerUsage": 300500,
            "nvmlDeviceGetTotalEnergyConsumption": 5000,
            "nvmlDeviceGetComputeRunningProcesses": [],
            "instant": 400250,
            **told,
        }


class NVMLError(Exception):
    """The error of the fake pynvml."""


CONSTANTS = {
    "NVML_SUCCESS": 0,
    "NVML_TEMPERATURE_GPU": 0,
    "NVML_CLOCK_SM": 1,
    "NVML_CLOCK_MEM": 2,
}


def refuse(*_: Any) -> None:
    raise NVMLError("Driver Not Loaded")


def answer(module: ModuleType, function: str) -> Callable[..., Any]:
    def call(card: Card, *_: Any) -> Any:
        if module.lost or card.told.get(function) is None:
            raise NVMLError(GPU_IS_LOST if module.lost else NOT_SUPPORTED)
        return card.told[function]

    return call


def field_values(module: ModuleType) -> Callable[[Card, list[int]], list[SimpleNamespace]]:
    def fields(card: Card, numbers: list[int]) -> list[SimpleNamespace]:
        if module.lost:
            raise NVMLError(GPU_IS_LOST)
        values = {186: card.told["instant"], 83: card.told["nvmlDeviceGetTotalEnergyConsumption"]}
        return [
            SimpleNamespace(
                nvmlReturn=0 if values[number] is not None else NOT_SUPPORTED,
                valueType=1 if number == 186 else 3,
                value=SimpleNamespace(uiVal=values[number] or 4711, ullVal=values[number] or 4711),  # undefined
            )
            for number in numbers
        ]

    return fields


@pytest.fixture
def driver(machine: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Put a fake pynvml in place, with these cards; `lost` takes all of them away."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    machine.write("dev/nvidiactl", "")

    def install(*cards: Card, starts: bool = True) -> ModuleType:
        module = ModuleType("pynvml")
        for function in Card(0).told:
            if function.startswith("nvml"):
                setattr(module, function, answer(module, function))
        module.__dict__.update(
            **CONSTANTS,
            lost=False,
            NVMLError=NVMLError,
            nvmlInit=(lambda: None) if starts else refuse,
            nvmlSystemGetDriverVersion=lambda: b"550.54.15",
            nvmlDeviceGetCount=lambda: len(cards),
            nvmlDeviceGetHandleByIndex=lambda index: cards[index],
            nvmlDeviceGetFieldValues=field_values(module),
            nvmlDeviceGetHandleByUUID=lambda uuid: SimpleNamespace(part_of=cards[-1]),
            nvmlDeviceGetDeviceHandleFromMigDeviceHandle=lambda part: part.part_of,
        )
        monkeypatch.setitem(sys.modules, "pynvml", module)
        return module

    return install


def test_state_power_and_energy_are_read_with_a_fake_driver(machine: Any, driver: Any) -> None:
    driver(Card(0), Card(1))
    state = Nvidia(machine.host)
    assert machine.values(state) == {
        f"gpu{index}.{name}": value
        for index in (0, 1)
        for name, value in {
            "utilisation_percent": 87,
            "memory_used_bytes": 3 << 30,
            "clock_sm_mhz": 1755,
            "clock_memory_mhz": 1755,
            "temperature_c": 63,
            "throttle_reasons": POWER_CAP | HARDWARE_THERMAL,
        }.items()
    }
    assert state.facts()["gpus"][0] == {
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": "GPU-00000000-aaaa",
        "architecture": "hopper",
        "driver": "550.54.15",
        "power_limit_w": 700.0,
        "power_sensor": "nvidia hopper instant power",
        "mig": False,
    }


def test_gpus_stay_open_from_run_to_run_with_a_fake_driver(machine: Any, driver: Any) -> None:
    library = driver(Card(0), Card(1))
    opened: list[int] = []
    handle = library.nvmlDeviceGetHandleByIndex
    library.nvmlDeviceGetHandleByIndex = lambda index: opened.append(index) or handle(index)
    for _ in range(2):
        for kind in (Nvidia, NvidiaEnergy):
            assert len(kind(machine.host).facts()) == 1
    assert opened == [0, 1]


def test_energy_is_counted_from_the_first_reading_with_a_fake_driver(machine: Any, driver: Any) -> None:
    card = Card(0)
    driver(card)
    source = NvidiaEnergy(machine.host)
    assert machine.values(source) == {"gpu0.power_w": 400.25, "gpu0.energy_mj": 0, "gpu0.energy_resets": 0}
    card.told["nvmlDeviceGetTotalEnergyConsumption"] = 5700
    assert machine.values(source)["gpu0.energy_mj"] == 700
    card.told["nvmlDeviceGetTotalEnergyConsumption"] = 100  # the driver was loaded anew
    assert machine.values(source) == {"gpu0.power_w": 400.25, "gpu0.energy_mj": 700, "gpu0.energy_resets": 1}


@pytest.mark.parametrize(
    ("capability", "instant", "sensor"),
    [
        ((9, 0), 400250, "nvidia hopper instant power"),
        ((9, 0), None, "nvidia hopper average power"),
        ((8, 0), None, "nvidia ampere-ga100 instant power"),  # its nvmlDeviceGetPowerUsage is no average
        ((8, 6), None, "nvidia ampere average power"),
        ((7, 0), None, "nvidia volta instant power"),
        ((6, 1), None, "nvidia pascal instant power"),
        ((99, 0), 400250, "nvidia blackwell instant power"),
    ],
)
def test_which_sensor_tells_the_power_is_known_with_a_fake_driver(
    machine: Any, driver: Any, capability: tuple[int, int], instant: int | None, sensor: str
) -> None:
    driver(Card(0, nvmlDeviceGetCudaComputeCapability=capability, instant=instant))
    source = NvidiaEnergy(machine.host)
    meter = source.facts()["meters"][0]
    assert meter["power_sensor"] == sensor
    assert {meter["power_sensor"], meter["counter_sensor"]} <= SENSORS.keys()
    assert machine.values(source)["gpu0.power_w"] == (400.25 if instant else 300.5)


def test_a_gpu_older_than_volta_has_power_and_no_counter_with_a_fake_driver(machine: Any, driver: Any) -> None:
    driver(Card(0, nvmlDeviceGetTotalEnergyConsumption=None, instant=None))
    assert machine.values(NvidiaEnergy(machine.host))["gpu0.energy_mj"] is None


def test_one_value_that_is_refused_is_null_and_the_others_stay_with_a_fake_driver(machine: Any, driver: Any) -> None:
    driver(Card(0, nvmlDeviceGetUtilizationRates=None, nvmlDeviceGetTemperature=None))
    values = machine.values(Nvidia(machine.host))
    assert {name for name, value in values.items() if value is None} == {
        "gpu0.utilisation_percent",
        "gpu0.temperature_c",
    }


def test_a_gpu_that_falls_off_the_bus_mid_run_is_null_from_then_on_with_a_fake_driver(
    machine: Any, driver: Any
) -> None:
    module = driver(Card(0))
    sources = [kind(machine.host) for kind in (Nvidia, NvidiaEnergy)]
    module.lost = True
    values = {name: value for source in sources for name, value in machine.values(source).items()}
    assert {name for name, value in values.items() if value is not None} == {"gpu0.energy_resets"}


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, ["GPU-00000000-aaaa", "GPU-00000001-aaaa", "GPU-00000002-aaaa"]),
        ("2,0", ["GPU-00000002-aaaa", "GPU-00000000-aaaa"]),
        ("GPU-00000001", ["GPU-00000001-aaaa"]),
        ("1,-1,0", ["GPU-00000001-aaaa"]),
        ("MIG-5678,MIG-9abc", ["GPU-00000002-aaaa"]),
    ],
)
def test_the_gpus_of_the_job_are_those_that_cuda_would_show_with_a_fake_driver(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch, visible: str | None, found: list[str]
) -> None:
    driver(Card(0), Card(1), Card(2))
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [gpu["uuid"] for gpu in Nvidia(machine.host).facts()["gpus"]] == found


T4 = Card(0, nvmlDeviceGetUUID="GPU-aaaaaaaa-0000-0000-0000-000000000001", nvmlDeviceGetName="Tesla T4")
A100 = Card(1, nvmlDeviceGetUUID="GPU-bbbbbbbb-0000-0000-0000-000000000002", nvmlDeviceGetName="NVIDIA A100-SXM4-40GB")


@pytest.mark.parametrize(
    ("order", "shown_by_cuda", "found"),
    [
        (None, [], ["Tesla T4"]),
        ("PCI_BUS_ID", [], ["Tesla T4"]),
        ("FASTEST_FIRST", [A100], ["NVIDIA A100-SXM4-40GB"]),
        ("FASTEST_FIRST", [A100, T4], ["NVIDIA A100-SXM4-40GB", "Tesla T4"]),
    ],
)
def test_a_number_is_the_gpu_of_cudas_order_with_a_fake_driver(
    machine: Any,
    driver: Any,
    monkeypatch: pytest.MonkeyPatch,
    order: str | None,
    shown_by_cuda: list[Card],
    found: list[str],
) -> None:
    """Workers get PCI_BUS_ID, in which NVML has a T4 first, unless the user has chosen otherwise."""
    driver(T4, A100)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    if order:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    ids = [uuid.UUID(card.told["nvmlDeviceGetUUID"].removeprefix("GPU-")).bytes for card in shown_by_cuda]
    install(monkeypatch, cuda=FakeCuda(ids))
    assert [gpu["name"] for gpu in Nvidia(machine.host).facts()["gpus"]] == found


def test_a_mig_instance_that_cuda_orders_belongs_to_its_gpu_with_a_fake_driver(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(T4, A100)
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    install(monkeypatch, cuda=FakeCudaWithParts([bytes(16)]))
    assert [gpu["name"] for gpu in Nvidia(machine.host).facts()["gpus"]] == ["NVIDIA A100-SXM4-40GB"]


def test_no_gpu_is_read_if_cuda_does_not_report_the_order_with_a_fake_driver(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading of the wrong GPU would be worse."""
    driver(T4, A100)
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    install(monkeypatch, cuda=FakeCuda([]))
    with pytest.raises(Absent, match=r"CUDA_DEVICE_ORDER=FASTEST_FIRST.*set it to PCI_BUS_ID"):
        Nvidia(machine.host)


@pytest.mark.parametrize("visible", ["", "-1", "7", "GPU-0"])
def test_no_visible_gpu_is_told_with_a_fake_driver(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    driver(Card(0), Card(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(Absent, match=f"no NVIDIA GPU among CUDA_VISIBLE_DEVICES={visible}"):
        Nvidia(machine.host)


def test_a_part_of_a_gpu_is_remarked_with_a_fake_driver(machine: Any, driver: Any) -> None:
    driver(Card(0, nvmlDeviceGetMigMode=[1, 1]))
    assert "other MIG instances" in NvidiaEnergy(machine.host).facts()["meters"][0]["remark"]


def test_a_missing_driver_or_package_says_what_to_install_with_a_fake_module(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(starts=False)
    with pytest.raises(Absent, match="the NVIDIA driver does not respond: Driver Not Loaded"):
        Nvidia(machine.host)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(Absent, match="lacks NVML's package: pip install nvidia-ml-py"):
        Nvidia(machine.host)
    machine.remove("dev/nvidiactl")
    with pytest.raises(Absent, match="no NVIDIA driver on this node"):
        Nvidia(machine.host)


def process(pid: int, memory: int | None = 100) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=memory)


@pytest.fixture
def shared_card(machine: Any, driver: Any) -> Card:
    (machine.root / "proc/self/ns").mkdir(parents=True)
    (machine.root / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    machine.own.pids = [10, 11]
    card = Card(0)
    driver(card)
    return card


def test_processes_that_are_not_the_repetitions_are_counted_with_a_fake_driver(machine: Any, shared_card: Card) -> None:
    shared_card.told["nvmlDeviceGetComputeRunningProcesses"] = [process(10), process(77, 500), process(78, 50)]
    source = NvidiaProcesses(machine.host)
    for _ in range(2):  # they may be children that nobody has looked for yet
        assert machine.values(source) == {"gpu0.foreign_processes": 0, "gpu0.foreign_memory_bytes": 0}
    machine.own.pids = [10, 11]
    for _ in range(2):
        assert machine.values(source) == {"gpu0.foreign_processes": 2, "gpu0.foreign_memory_bytes": 550}
    shared_card.told["nvmlDeviceGetComputeRunningProcesses"] = [process(10), process(77, None)]
    assert machine.values(source) == {"gpu0.foreign_processes": 1, "gpu0.foreign_memory_bytes": None}


def test_a_child_that_was_not_known_yet_is_no_stranger_with_a_fake_driver(machine: Any, shared_card: Card) -> None:
    shared_card.told["nvmlDeviceGetComputeRunningProcesses"] = [process(12)]
    source = NvidiaProcesses(machine.host)
    machine.values(source)
    machine.own.pids = [10, 11, 12]
    assert machine.values(source)["gpu0.foreign_processes"] == 0


def test_the_server_of_mps_is_no_stranger_with_a_fake_driver(machine: Any, shared_card: Card) -> None:
    machine.write("proc/90/comm", "nvidia-cuda-mps-server")
    machine.write("proc/91/comm", "python")
    shared_card.told["nvmlDeviceGetComputeRunningProcesses"] = [process(90), process(91)]
    source = NvidiaProcesses(machine.host)
    machine.values(source)
    machine.own.pids = [10, 11]
    assert machine.values(source)["gpu0.foreign_processes"] == 1


def test_processes_that_may_not_be_listed_are_null_with_a_fake_driver(machine: Any, shared_card: Card) -> None:
    shared_card.told["nvmlDeviceGetComputeRunningProcesses"] = None
    assert machine.values(NvidiaProcesses(machine.host)) == {
        "gpu0.foreign_processes": None,
        "gpu0.foreign_memory_bytes": None,
    }


@pytest.fixture
def container(machine: Any, shared_card: Card) -> Card:
    """A card in a container with its own process IDs."""
    link = machine.root / "proc/self/ns/pid"
    link.unlink()
    link.symlink_to("pid:[4026533000]")
    for pid in (10, 11, 77):
        machine.write(f"proc/{pid}/comm", "python")
    return shared_card


def test_in_a_container_the_process_ids_of_the_node_are_unknown_with_a_fake_driver(
    machine: Any, container: Card
) -> None:
    source = NvidiaProcesses(machine.host)
    for pids in ([], [40010, 40077], [10, 40077]):  # the last 10 is another process of the node
        container.told["nvmlDeviceGetComputeRunningProcesses"] = [process(pid) for pid in pids]
        machine.own.pids = [10, 11]
        assert set(machine.values(source).values()) == {None}
    assert source.facts() == {"own_container_only": True}


def test_in_a_container_other_processes_count_if_the_driver_translates_ids_with_a_fake_driver(
    machine: Any, container: Card
) -> None:
    container.told["nvmlDeviceGetComputeRunningProcesses"] = [process(10), process(77, 500)]
    source = NvidiaProcesses(machine.host)
    machine.values(source)
    machine.own.pids = [10, 11]
    assert machine.values(source) == {"gpu0.foreign_processes": 1, "gpu0.foreign_memory_bytes": 500}


def test_a_driver_older_than_pynvml_still_lists_processes_with_a_fake_driver(machine: Any, shared_card: Card) -> None:
    nvml: Any = sys.modules["pynvml"]
    nvml.NVMLLibraryMismatchError = type("NVMLLibraryMismatchError", (Exception,), {})

    def mismatch(_: Card) -> None:
        raise nvml.NVMLLibraryMismatchError("unversioned function")

    nvml.nvmlDeviceGetComputeRunningProcesses = mismatch
    nvml.nvmlDeviceGetComputeRunningProcesses_v2 = lambda _: [process(77)]
    source = NvidiaProcesses(machine.host)
    machine.values(source)
    machine.own.pids = [10, 11]
    assert machine.values(source)["gpu0.foreign_processes"] == 1
