"""Lists of networks that never run: equal to the lists of networks with data, without their memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem
from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: lists of networks that never run")

from hpcbench.node.frameworks import load  # noqa: E402 - it needs torch
from hpcbench.node.frameworks.pytorch.profiler import step  # noqa: E402
from hpcbench.node.frameworks.pytorch.unrun import networks  # noqa: E402

NETS = """
import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(4, width)
        self.rates = [rate.item() for rate in torch.linspace(0, 1, 3)]  # read while the network is built

    def forward(self, batch):
        return self.inner(batch) * self.rates[1]

def small(width=8):
    return Scaled(width)

def large_table():
    module = Scaled(8)
    module.order = torch.rand(5000).argsort().tolist()  # read from a large tensor
    return module

class Branches(Scaled):
    def forward(self, batch):
        return self.inner(batch) if batch.sum() > 0 else batch

def branches():
    return Branches(4)

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, batch):
        return self.layer(batch).mean(1)

def encoder():
    return Encoder()
"""
INPUT = {"shape": [4]}


@pytest.fixture
def listed(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., OperatorList]:
    def make(**changes: Any) -> OperatorList:
        on_gpu = {"gpus_per_task": 1} if changes.get("device") == "gpu" else {}
        parameters = make_parameters(**{"batch_size": 2, **on_gpu, **changes})
        return load("pytorch").operators_of(problem.of_case(parameters, Group(Ranks(0, 1))))

    return make


@pytest.fixture
def own_nets(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user in the folder of the run."""
    (tmp_path / "unrun_nets.py").write_text(NETS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize("model", ["mlp", "lstm_stack", "alexnet", "transformer", "gpt"])
def test_the_list_is_that_of_the_profiler(
    listed: Callable[..., OperatorList], make_parameters: Callable[..., dict[str, Any]], model: str, task: str
) -> None:
    options = {"model": model, "model_options": TINY[model], "batch_size": 2, "task": task}
    optimizer = {"optimizer": {"name": "adamw", "clip_norm": 1.0}} if task == "training" else {}
    found = listed(**options, **optimizer)
    parameters = make_parameters(**options, **optimizer)
    network = load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1))))
    real = step.operators(network, [])
    rows = [(each.operator, each.phase, each.arguments, each.calls, each.bytes_moved) for each in found.operators]
    assert rows == [(*each.key, each.calls, each.bytes_moved) for each in real]
    assert [each.flops for each in found.operators] == [each.flops for each in real]
    assert found.parameter_count == network.parameter_count


def test_a_backward_pass_has_no_optimizer(listed: Callable[..., OperatorList]) -> None:
    found = listed(model="mlp", task="backward")
    assert {each.phase for each in found.operators} == {"forward", "backward"}


def test_a_large_network_takes_no_memory(listed: Callable[..., OperatorList]) -> None:
    options = {"input_size": 100_000, "hidden_size": 1_000_000, "layers": 1, "classes": 10}  # 400 GB of weights
    found = listed(model="mlp", model_options=options, task="training")
    assert found.parameter_count == 100_011_000_010


def test_a_gpu_updates_all_weights_at_once(listed: Callable[..., OperatorList]) -> None:
    found = listed(model="mlp", task="training", optimizer="adamw", device="gpu")
    of_optimizer = [each for each in found.operators if each.phase == "optimizer" and each.bytes_moved > 10_000]
    assert of_optimizer
    assert all(each.operator.startswith("aten._foreach_") for each in of_optimizer)


@pytest.mark.parametrize(("dtype", "norm"), [("bfloat16", "float32"), ("float16", "float32")])
def test_autocast_of_a_gpu_normalizes_in_float32(listed: Callable[..., OperatorList], dtype: str, norm: str) -> None:
    options = {"model": "transformer", "model_options": TINY["transformer"], "task": "training"}
    found = listed(**options, device="gpu", dtype=dtype)
    by_name = {each.operator: each for each in found.operators if each.phase == "forward"}
    assert by_name["aten.native_layer_norm.default"].dtype == norm
    assert by_name["aten.addmm.default"].dtype == dtype
    other = '"float16"' if dtype == "bfloat16" else '"bfloat16"'
    assert not any(other in each.arguments for each in found.operators)
    scales = any("_amp_foreach_non_finite" in each.operator for each in found.operators)
    assert scales == (dtype == "float16")


@pytest.mark.usefixtures("own_nets")
def test_a_gpu_fuses_dropout_and_attention_with_dropout(listed: Callable[..., OperatorList]) -> None:
    options = {"model": "unrun_nets:encoder", "input": {"shape": [3, 8]}, "task": "training"}
    on_gpu, on_cpu = Counter[str](), Counter[str]()
    for device, calls in (("gpu", on_gpu), ("cpu", on_cpu)):
        for each in listed(**options, device=device).operators:
            calls[each.operator] += each.calls
    assert on_gpu["aten.native_dropout.default"] == on_gpu["aten.native_dropout_backward.default"] == 3
    assert sum(on_gpu[name] for name in on_gpu if "dot_product_flash" in name) == 2  # forward and backward
    assert not {"aten.bmm.default", "aten.bernoulli_.float"} & set(on_gpu)
    assert on_cpu["aten.bmm.default"] == 6
    assert on_cpu["aten.bernoulli_.float"] == 4  # the attention's, too


@pytest.mark.parametrize("model", TINY)
def test_networks_are_built_without_their_large_tensors(
    listed: Callable[..., OperatorList], monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    builds = []
    kept = networks.built_small
    monkeypatch.setattr(networks, "built_small", lambda build: kept(lambda: builds.append(1) or build()))
    listed(model=model)
    assert len(builds) == 1  # a second one would have all tensors


@pytest.mark.usefixtures("own_nets")
@pytest.mark.parametrize("function", ["small", "large_table"])
def test_the_network_of_a_user(listed: Callable[..., OperatorList], function: str) -> None:
    found = listed(model=f"unrun_nets:{function}", input=INPUT, task="training")
    assert found.parameter_count == 40
    assert "aten.addmm.default" in [each.operator for each in found.operators]


@pytest.mark.usefixtures("own_nets")
def test_a_network_that_reads_its_values_cannot_be_listed(listed: Callable[..., OperatorList]) -> None:
    with pytest.raises(Exception, match=r"DataDependentOutput|_local_scalar_dense"):
        listed(model="unrun_nets:branches", input=INPUT)
