"""What a driver tells of its GPUs, and what follows for the ranks of a node. The driver here is a fake one."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import pytest

from hpcbench.node.errors import Unsupported
from hpcbench.node.frameworks import capabilities
from hpcbench.node.host import gpus
from hpcbench.node.workload import problem

NO_DEVICE, OUT_OF_RANGE = 100, 101  # CUDA's
FIRST, SECOND, THIRD, FOURTH = (bytes([number]) * 16 for number in (1, 2, 3, 4))


class FakeCuda:
    """libcuda.so.1 with these GPUs, as ctypes calls it."""

    def __init__(self, numbers: list[bytes]) -> None:
        self.numbers = numbers

    def cuInit(self, flags: int) -> int:  # noqa: N802 - CUDA's names
        return 0 if self.numbers else NO_DEVICE

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.numbers)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        device._obj.value = index
        return 0 if index < len(self.numbers) else OUT_OF_RANGE

    def cuDeviceGetName(self, text: Any, length: int, device: Any) -> int:  # noqa: N802
        text.value = b"Fake GPU %d" % device.value
        return 0

    def cuDeviceGetUuid(self, number: Any, device: Any) -> int:  # noqa: N802
        number.raw = self.numbers[device.value]
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:  # noqa: N802
        value._obj.value = {75: 7, 76: 5}[attribute]
        return 0


class FakeCudaWithParts(FakeCuda):
    """Its GPUs are parts of one: only the newer function tells them apart."""

    def cuDeviceGetUuid_v2(self, number: Any, device: Any) -> int:  # noqa: N802
        return super().cuDeviceGetUuid(number, device)

    def cuDeviceGetUuid(self, number: Any, device: Any) -> int:  # noqa: N802
        number.raw = FIRST
        return 0


class FakeHip:
    """libamdhip64.so with two GPUs."""

    def hipInit(self, flags: int) -> int:  # noqa: N802
        return 0

    def hipGetDeviceCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0


def install(monkeypatch: pytest.MonkeyPatch, **drivers: Any) -> None:
    """These libraries are there, and no others: `cuda` or `hip`."""
    names = {"libcuda.so.1": drivers.get("cuda"), "libamdhip64.so": drivers.get("hip")}

    def load(path: str) -> Any:
        if names[path] is None:
            raise OSError(f"{path}: cannot open shared object file")
        return names[path]

    monkeypatch.setattr(ctypes, "CDLL", load)


def test_a_fake_driver_tells_number_name_identity_and_capability(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, cuda=FakeCuda([FIRST, SECOND]))
    assert gpus.count() == 2
    assert [gpus.name(index) for index in (0, 1)] == ["Fake GPU 0", "Fake GPU 1"]
    assert [gpus.identity(index) for index in (0, 1)] == [FIRST.hex(), SECOND.hex()]
    assert gpus.capability(1) == (7, 5)
    assert (gpus.name(2), gpus.identity(2), gpus.capability(2)) == (None, None, None)


def test_parts_of_a_fake_gpu_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, cuda=FakeCudaWithParts([SECOND, THIRD]))
    assert gpus.identity(0) != gpus.identity(1)


def test_a_fake_driver_of_amd_tells_the_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, hip=FakeHip())
    assert gpus.count() == 2
    assert (gpus.name(0), gpus.identity(0), gpus.capability(0)) == (None, None, None)
    install(monkeypatch, cuda=FakeCuda([]), hip=FakeHip())
    assert gpus.count() == 2


def test_without_even_a_fake_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    assert gpus.count() == 0
    assert gpus.identity(0) is None


@dataclass
class RankOf:
    """A rank of one node. What the ranks gather is in `said`, by rank, once all have told it."""

    rank: int
    size: int
    bound: bool
    said: list[Any]

    @property
    def local_ranks(self) -> list[int]:
        return list(range(self.size))

    @property
    def local_rank(self) -> int:
        return self.rank

    def gather(self, value: Any) -> list[Any]:
        if len(self.said) < self.size:
            self.said.append(value)
            raise StopAsyncIteration
        return self.said


def refusals(monkeypatch: pytest.MonkeyPatch, make_parameters: Any, drivers: list[Any], bound: bool) -> list[str]:
    """What each rank of a node is told, of those that are refused. Each has a driver of its own."""
    parameters = make_parameters(device="gpu", gpus_per_task=1, strategy="ddp", tasks_per_node=len(drivers))
    said: list[Any] = []
    told = []
    for turn in range(2):
        for rank, driver in enumerate(drivers):
            install(monkeypatch, **driver)
            asked = problem.of_case(parameters, RankOf(rank, len(drivers), bound, said))  # type: ignore[arg-type]
            try:
                capabilities.check_gpus(asked, ["a GPU"] * gpus.count(), "PyTorch")
            except StopAsyncIteration:
                assert turn == 0
            except Unsupported as error:
                told.append(str(error))
    return told


def cuda(*numbers: bytes) -> dict[str, Any]:
    return {"cuda": FakeCuda(list(numbers))}


ALL = (FIRST, SECOND, THIRD, FOURTH)
AMD = {"hip": FakeHip()}


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize(
    ("drivers", "refused"),
    [
        ([cuda(FIRST)], 0),
        ([cuda(*ALL)] * 4, 0),
        ([cuda(FIRST), cuda(SECOND)], 0),
        ([cuda(FIRST)] * 2, 2),
        ([cuda(*ALL[:2])] * 3, 2),
        ([cuda(*ALL[:2]), cuda(*ALL[2:])], 0),
        ([cuda(FIRST, SECOND), cuda(THIRD, FOURTH), cuda(b"5" * 16, b"6" * 16)], 0),
        ([cuda(FIRST), cuda()], 1),
        ([{"cuda": FakeCudaWithParts([SECOND])}, {"cuda": FakeCudaWithParts([THIRD])}], 0),
    ],
    ids=[
        "alone",
        "all see all",
        "one each",
        "one for both",
        "two for three",
        "two each, two tasks",
        "two each, three tasks",
        "none for one",
        "a part each",
    ],
)
def test_ranks_of_a_node_are_refused_where_two_have_the_same_fake_gpu(
    monkeypatch: pytest.MonkeyPatch, make_parameters: Any, drivers: list[Any], refused: int, bound: bool
) -> None:
    told = refusals(monkeypatch, make_parameters, drivers, bound)
    assert len(told) == refused
    assert all("would share a GPU" in words or "finds none on this node" in words for words in told)


def test_fake_gpus_that_nothing_tells_apart_are_counted(monkeypatch: pytest.MonkeyPatch, make_parameters: Any) -> None:
    assert refusals(monkeypatch, make_parameters, [AMD] * 2, bound=False) == []
    told = refusals(monkeypatch, make_parameters, [AMD] * 3, bound=False)
    assert told == ["3 tasks on this node request a GPU each, but 2 are visible"] * 3


@pytest.mark.parametrize(
    ("dtype", "capability", "refused"),
    [("bfloat16", (7, 5), True), ("bfloat16", (8, 0), False), ("bfloat16", None, False), ("float16", (7, 5), False)],
)
def test_bfloat16_is_refused_on_a_gpu_that_is_known_to_lack_it(
    make_parameters: Any, dtype: str, capability: tuple[int, int] | None, refused: bool
) -> None:
    asked = problem.of_case(make_parameters(dtype=dtype), RankOf(0, 1, False, []))  # type: ignore[arg-type]
    if not refused:
        capabilities.check_gpu_dtype(asked, capability, "Fake GPU")
        return
    with pytest.raises(Unsupported, match="Fake GPU has no bfloat16 arithmetic"):
        capabilities.check_gpu_dtype(asked, capability, "Fake GPU")
