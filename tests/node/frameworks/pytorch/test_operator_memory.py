"""Operators whose arrays do not fit into the memory of a GPU, which is a fake of `torch.cuda`: no GPU is here."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hpcbench.models.operators import values  # noqa: E402
from hpcbench.node.errors import Unsupported  # noqa: E402
from hpcbench.node.frameworks.pytorch.operators import PyTorchOperator  # noqa: E402
from tests.node.worker.validation.numpy_call import computation  # noqa: E402

pytestmark = pytest.mark.torch


class DrawnError(Exception):
    """The arrays are drawn: the check of the memory has passed."""


@pytest.fixture(autouse=True)
def gpu_with_2_gb_free(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*given: object) -> None:
        raise DrawnError

    def free_and_total(device: torch.device) -> tuple[int, int]:
        assert device == torch.device("cuda", 0)
        return 2 * 10**9, 80 * 10**9

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", free_and_total)
    monkeypatch.setattr(values, "arrays_of", draw)


def test_arrays_that_do_not_fit_on_a_fake_gpu_are_not_drawn() -> None:
    with pytest.raises(Unsupported, match=r"need 2\.4 GB on the GPU, and 2\.0 GB are free"):
        computation("relu", {"size": 3 * 10**8}, of=PyTorchOperator, device="gpu", gpus_per_task=1)


def test_arrays_that_fit_on_a_fake_gpu_are_drawn() -> None:
    with pytest.raises(DrawnError):
        computation("relu", {"size": 2 * 10**8}, of=PyTorchOperator, device="gpu", gpus_per_task=1)


def test_the_memory_of_a_fake_gpu_does_not_limit_cases_on_the_cpu() -> None:
    with pytest.raises(DrawnError):
        computation("relu", {"size": 3 * 10**8}, of=PyTorchOperator)
