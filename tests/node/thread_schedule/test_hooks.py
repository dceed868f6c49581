"""Where a section begins, in modules whose output has many tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: where sections begin")

from hpcbench.node.thread_schedule import BACKWARD  # noqa: E402 - it needs torch
from hpcbench.node.thread_schedule.hooks import on_begin  # noqa: E402


class Several(torch.nn.Module):
    """Its output is a nest of tensors, as a program may have it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))

    def forward(self, batch: Any) -> Any:
        first, second, third = (part(batch) for part in self.parts)
        return first, {"second": second, "rest": [third, None]}


@pytest.mark.parametrize(
    "used",
    [
        lambda output: [output[0]],
        lambda output: [output[1]["second"]],
        lambda output: [output[1]["rest"][0]],
        lambda output: [output[0], output[1]["second"], output[1]["rest"][0]],
    ],
    ids=["first", "of a dictionary", "nested", "all"],
)
def test_a_backward_begins_once_with_any_tensor_of_the_output(used: Callable[[Any], list[Any]]) -> None:
    model, begun = Several(), []
    hooks = on_begin(model, BACKWARD, lambda: begun.append(model.parts[0].weight.grad))
    for step in range(2):
        model.zero_grad()
        sum(tensor.sum() for tensor in used(model(torch.ones(1, 2)))).backward()
        assert begun == [None] * (step + 1), "before the gradients of the module itself"
    for hook in hooks:
        hook.remove()
    model(torch.ones(1, 2))[0].sum().backward()
    assert len(begun) == 2


def test_a_weight_in_the_output_has_no_hooks_which_would_be_more_with_every_step() -> None:
    class Tied(torch.nn.Linear):
        def forward(self, batch: Any) -> Any:
            return super().forward(batch), self.weight

    model, begun = Tied(2, 2), []
    on_begin(model, BACKWARD, lambda: begun.append(True))
    sum(tensor.sum() for tensor in model(torch.ones(1, 2))).backward()
    assert begun == [True]
    assert not model.weight._backward_hooks
