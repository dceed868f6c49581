"""What every adapter asks of the machine in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.node.errors import Unsupported
from hpcbench.node.frameworks import capabilities, horovod
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

ALONE = Group(Ranks(0, 1))


@pytest.fixture
def asked(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., problem.Problem]:
    return lambda **changes: problem.of_case(make_parameters(**changes), ALONE)


@pytest.mark.parametrize(
    ("dtype", "capability", "fits"),
    [
        ("bfloat16", (7, 5), False),
        ("bfloat16", (8, 0), True),
        ("bfloat16", (12, 0), True),
        ("bfloat16", None, True),
        ("float16", (7, 0), True),
        ("float32", (3, 5), True),
    ],
)
def test_bfloat16_needs_a_gpu_that_has_it(
    asked: Callable[..., problem.Problem], dtype: str, capability: tuple[int, int] | None, fits: bool
) -> None:
    case = asked(dtype=dtype, device="gpu", gpus_per_task=1)
    if fits:
        capabilities.check_gpu_dtype(case, capability, "a Turing")
        return
    with pytest.raises(Unsupported, match=r"^a Turing has no bfloat16 arithmetic$"):
        capabilities.check_gpu_dtype(case, capability, "a Turing")


@pytest.mark.parametrize(
    ("task", "dtype", "refused"),
    [("training", "float16", True), ("inference", "float16", False), ("training", "bfloat16", False)],
)
def test_only_training_in_float16_needs_loss_scaling(
    asked: Callable[..., problem.Problem], task: str, dtype: str, refused: bool
) -> None:
    case = asked(task=task, dtype=dtype)
    if refused:
        with pytest.raises(Unsupported, match="loss scaling"):
            capabilities.refuse_unscaled_float16(case)
    else:
        capabilities.refuse_unscaled_float16(case)


def test_a_horovod_that_is_not_there_is_unsupported_and_how_to_get_it_is_said(
    asked: Callable[..., problem.Problem],
) -> None:
    with pytest.raises(Unsupported, match=r"Horovod not found in .*hpcbench env build horovod-pytorch"):
        horovod.join(asked(strategy="horovod"))
