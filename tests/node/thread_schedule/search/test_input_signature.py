"""What a model is called with in a step."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: the inputs of a model")

from hpcbench.node.thread_schedule.search.input_signature import inputs_of  # noqa: E402 - it needs torch


class Taking(torch.nn.Module):
    def forward(self, *inputs: Any, **named: Any) -> Any:
        return inputs


def test_all_tensors_of_the_first_call_are_told_with_shape_and_dtype() -> None:
    model = Taking()
    words, state = torch.zeros(2, 3, dtype=torch.long), (torch.zeros(1, 4), torch.zeros(1, 4))

    def step() -> None:
        model(words, state, 7, mask={"own": torch.ones(2, dtype=torch.bfloat16)})
        model(torch.ones(9))

    assert inputs_of(model, step) == [
        {"shape": [2, 3], "dtype": "int64"},
        {"shape": [1, 4], "dtype": "float32"},
        {"shape": [1, 4], "dtype": "float32"},
        {"shape": [2], "dtype": "bfloat16"},
    ]
    assert not model._forward_pre_hooks


def test_the_model_is_left_as_it_was_where_the_step_fails() -> None:
    model = Taking()
    with pytest.raises(ZeroDivisionError):
        inputs_of(model, lambda: model(torch.ones(1 // 0)))
    assert not model._forward_pre_hooks


def test_a_step_that_calls_parts_of_the_model_has_no_inputs_of_it() -> None:
    assert inputs_of(Taking(), lambda: None) == []
