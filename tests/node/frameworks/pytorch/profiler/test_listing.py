"""The list of operators, without running the step: compared with real steps, with torch.profiler and with FLOPs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.node.host import cpuinfo
from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks.pytorch.profiler import in_network, listing, step  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler.kinds import VIEW  # noqa: E402

Build = Callable[..., Any]
LARGE = ("alexnet", "vgg16", "resnet50", "inception_v3")
TASKS = ({"task": "inference"}, {"task": "training", "optimizer": {"name": "adamw"}})
MODELS = [pytest.param(name, marks=[pytest.mark.long] if name in LARGE else []) for name in TINY]
ADDED_UP = ("aten.add.Tensor",)  # see listing.Calls
IN_LISTS = ("aten.cat.default", "aten.stack.default")  # torch.profiler does not show the shapes of lists


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["task"])
@pytest.mark.parametrize("model", MODELS)
def test_the_list_is_that_of_a_real_step(
    build: Build, monkeypatch: pytest.MonkeyPatch, model: str, task: dict[str, Any]
) -> None:
    network = build(model, **task)
    monkeypatch.setattr(step, "listed", None)  # no fallback to a real step
    before = [weight.copy() for weight in network.weights()]
    found = step.operators(network, [])
    assert all((one == other).all() for one, other in zip(before, network.weights(), strict=True))  # nothing has run
    real = step.step_of(step.observable(network))
    real.run()
    assert found == listing.listed(real)
    phases = [each.key.phase for each in found]
    assert set(phases) == ({"forward"} if task["task"] == "inference" else {"forward", "backward", "optimizer"})


@pytest.mark.parametrize("model", MODELS)
def test_the_list_is_what_torch_profiler_sees_in_inference(build: Build, model: str) -> None:
    network = build(model)
    found = [each for each in step.operators(network, []) if each.kind != VIEW]
    profile = in_network.profiled(step.step_of(network), network.synchronize, budget_s=1e-3)
    inside = in_network.of_operators(profile, found)
    places = {each.key: (in_network._name(each.key), in_network._shapes_of_key(each.key)) for each in found}
    listed = Counter[Any]()
    for each in found:
        listed[places[each.key]] += each.calls
    for each in found:
        if each.key.operator not in (*ADDED_UP, *IN_LISTS):
            assert inside[each.key].calls == len(profile.kept) * listed[places[each.key]], each


@pytest.mark.parametrize("model", MODELS)
def test_flops_of_operators_add_up_to_those_of_the_model(build: Build, model: str) -> None:
    network = build(model)
    found = sum((each.flops or 0) * each.calls for each in step.operators(network, []))
    assert found == network.work.flops_per_item * network.work.items_per_step


def test_a_convolution_is_described(build: Build) -> None:
    found = step.operators(build("resnet50"), [])
    (first,) = [each for each in found if '"shape":[64,3,7,7]' in each.key.arguments]
    assert (first.kind, first.key.operator, first.calls, first.dtype) == (
        "conv2d",
        "aten.convolution.default",
        1,
        "float32",
    )
    arguments = json.loads(first.key.arguments)
    assert arguments["input"] == {"shape": [2, 3, 32, 32], "strides": [3072, 1024, 32, 1], "dtype": "float32"}
    assert (arguments["weight"]["weight"], arguments["stride"], arguments["padding"]) == (True, [2, 2], [3, 3])
    output = 4 * 2 * 64 * 16 * 16
    assert (first.weight_bytes, first.output_bytes) == (4 * 64 * 3 * 7 * 7, output)
    assert first.bytes_moved == 4 * 2 * 3 * 32 * 32 + first.weight_bytes + output
    assert first.flops == 2 * 2 * 64 * 16 * 16 * 3 * 7 * 7


def test_an_embedding_reads_as_many_rows_as_it_returns(build: Build) -> None:
    found = [each for each in step.operators(build("transformer"), []) if each.kind == "embedding"]
    assert [each.bytes_moved for each in found] == [2 * 6 * 4 + 2 * 4 * 2 * 6 * 16, 6 * 8 + 2 * 4 * 6 * 16]


def test_bytes_moved_are_those_read_and_those_written() -> None:
    some, other, out = (torch.ones(100) for _ in range(3))

    def run() -> None:
        some.add_(other)
        some.copy_(other)
        some.fill_(1.0)
        torch.add(some, other)
        torch.add(some, other, out=out)
        torch._foreach_mul_([some, other], 2.0)

    found = listing.listed(listing.Step(run, frozenset))
    arrays = {each.key.operator: each.bytes_moved / 400 for each in found}
    assert arrays == {
        "aten.add_.Tensor": 3,
        "aten.copy_.default": 2,
        "aten.fill_.Scalar": 1,
        "aten.add.Tensor": 3,
        "aten.add.out": 3,
        "aten._foreach_mul_.Scalar": 4,
    }


def test_a_fused_adamw_reads_four_arrays_and_writes_three() -> None:
    weight = torch.nn.Parameter(torch.ones(1000))
    weight.grad = torch.ones(1000)
    optimizer = torch.optim.AdamW([weight], fused=True)
    optimizer.step()
    found = listing.listed(listing.Step(optimizer.step, frozenset))
    (fused,) = [each for each in found if each.key.operator == "aten._fused_adamw_.default"]
    assert fused.bytes_moved == 7 * 4000 + 4  # and the number of the step


def test_float16_training_is_listed_from_a_real_step_on_a_cpu_said_to_compute_in_float16(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpuinfo, "computes_in", lambda dtype: True)  # PyTorch emulates float16 on other CPUs
    ran = []
    real = listing.listed
    monkeypatch.setattr(step, "listed", lambda taken: ran.append(taken) or real(taken))
    warnings = list[str]()
    found = step.operators(build("mlp", task="training", dtype="float16"), warnings)
    assert not warnings
    assert ran  # the scaler tests the gradients for infinities
    assert any("_amp_foreach_non_finite_check" in each.key.operator for each in found)


def test_a_list_that_fails_for_another_reason_is_a_warning(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise MemoryError("no memory for the list\nand more")

    network, warnings = build("mlp"), list[str]()
    known = step.operators(network, warnings)
    assert not warnings
    monkeypatch.setattr(step, "operators_of", failing)
    assert step.operators(network, warnings) == known
    (warning,) = warnings
    assert warning.endswith("are those of a step that ran; without running it: MemoryError: no memory for the list")


def test_values_that_an_optimizer_computes_anew_do_not_make_new_keys(build: Build) -> None:
    real = step.step_of(step.observable(build("mlp", task="training", optimizer={"name": "adamw"})))
    real.run()
    assert [each.key for each in listing.listed(real)] == [each.key for each in listing.listed(real)]
