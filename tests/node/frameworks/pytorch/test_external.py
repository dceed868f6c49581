"""Models of the user in PyTorch: work, inputs, losses, steps, and what is refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbench.models import catalog
from hpcbench.models.inputs import UNNAMED, Input, merged
from hpcbench.node.errors import BadData, BadModel, Unsupported
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem
from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: models of the user")

from torch import nn  # noqa: E402

from hpcbench.models.initial_weights import InitialWeights, Numbers  # noqa: E402
from hpcbench.node.frameworks import load  # noqa: E402
from hpcbench.node.frameworks.pytorch import layers, sharding  # noqa: E402
from hpcbench.node.frameworks.pytorch.external import build as external_build  # noqa: E402
from hpcbench.node.frameworks.pytorch.external import of_torchvision, outputs  # noqa: E402
from hpcbench.node.frameworks.pytorch.external.flops import rnn_flops  # noqa: E402
from hpcbench.node.frameworks.pytorch.external.trace import trace  # noqa: E402

NETS = """
import torch
from torch import nn
from torch.nn import functional

def build(width=8, classes=3):
    return nn.Sequential(nn.Flatten(), nn.Linear(12, width), nn.ReLU(), nn.Linear(width, classes))

class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.output = nn.Embedding(50, 8), nn.Linear(8, 5)

    def forward(self, ids, mask):
        return {"logits": self.output(self.embedding(ids) * mask.unsqueeze(-1))}

def masked():
    return Masked()

def in_bfloat16():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).bfloat16()

def any_size():
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(3))

def flat():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 1), nn.Flatten(0))

def squares(output, targets):
    return ((output - targets) ** 2).mean()

def not_a_module():
    return "a network"

def scripted(within=False):
    module = torch.jit.script(build())
    return nn.Sequential(nn.Identity(), module) if within else module

def fails():
    raise RuntimeError("no weights today\\nsecond line")

def smooth(output, targets):
    return functional.cross_entropy(output, targets, label_smoothing=0.5)

def step(model, inputs, targets, optimizer):
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss

def changes_settings():
    torch.set_float32_matmul_precision("medium")
    torch.set_num_threads(torch.get_num_threads() + 1)
    return build(8)

def per_pixel():
    return nn.Conv2d(3, 5, 1)

def each_alone(output, targets):
    return functional.cross_entropy(output, targets, reduction="none")

def number(output, targets):
    return 0.5

def step_without_result(model, inputs, targets, optimizer):
    pass
"""
ADVICE = "build the environment: hpcbench env build pytorch-zoo"
IMAGES = {"model": "user_nets:build", "input": {"shape": [3, 2, 2]}}
Build = Callable[..., Any]


@pytest.fixture
def build(
    make_parameters: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Build]:
    """A model of a function in the workspace, through the adapter."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "user_nets.py").write_text(NETS)

    def make(**changes: Any) -> Any:
        parameters = make_parameters(**{**IMAGES, "task": "training", "batch_size": 4, "model_options": {}, **changes})
        return load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1))))

    yield make
    sys.modules.pop("user_nets", None)


def test_the_work_of_a_function_of_the_user_is_counted(build: Build) -> None:
    work = build(task="inference").work
    assert work.parameter_count == 12 * 8 + 8 + 8 * 3 + 3
    assert work.flops_per_item == 2 * (12 * 8 + 8 * 3)
    assert work.input_shapes == {"input": (4, 3, 2, 2)}
    assert build(task="training").work.flops_per_item == 3 * work.flops_per_item
    assert build(task="inference", model_options={"width": 16}).work.parameter_count == 12 * 16 + 16 + 16 * 3 + 3


def test_library_models_work_offline_if_the_user_allows_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    with pytest.raises(Unsupported, match=f"^no_such_library not found in .*; {ADVICE}"):
        of_torchvision.import_dependent("no_such_library")
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_the_fingerprint_identifies_the_graph(build: Build) -> None:
    def fingerprint(**changes: Any) -> str:
        found: str = build(**changes).work.graph_fingerprint
        return found

    one = fingerprint()
    assert fingerprint(task="inference", seed=7, batch_size=2) == one
    assert len({one, fingerprint(model_options={"width": 9}), fingerprint(input={"shape": [12]})}) == 3


@pytest.mark.parametrize("model", TINY)
def test_counted_flops_are_those_of_the_formulas_of_the_shipped_models(model: str) -> None:
    options = catalog.resolved_options(model, TINY[model])
    chain, shape = catalog.network(model, options)
    module = layers.sequential(chain, shape, InitialWeights(0))
    numbers, tokens = Numbers(0), "vocabulary" in options
    array = numbers.integers((1, *shape), options["vocabulary"]) if tokens else numbers.uniform((1, *shape), 1.0)
    found = trace("input", module, lambda: module(torch.from_numpy(array)), with_gradients=False)
    assert found.flops == catalog.flops_of(chain, shape, training=False)
    assert found.output_shape == ((1, *shape, options["vocabulary"]) if model == "gpt" else (1, options["classes"]))


@pytest.mark.parametrize("with_gradients", [False, True])
def test_parameters_without_gradient_are_found(with_gradients: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(2, 3), nn.Linear(2, 3)

        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return self.used(batch)

    net = Net()
    found = trace("input", net, lambda: net(torch.zeros(1, 2)), with_gradients=with_gradients)
    assert found.unused == (("unused.weight", "unused.bias") if with_gradients else ())
    assert all(weight.requires_grad and weight.grad is None for weight in net.parameters())


@pytest.mark.parametrize(
    "rnn",
    [
        nn.LSTM(4, 6, 2, bidirectional=True),
        nn.LSTM(4, 6, proj_size=3),
        nn.GRU(4, 6, 3, batch_first=True),
        nn.RNN(4, 6, bidirectional=True),
    ],
)
def test_flops_of_recurrent_networks_are_those_of_their_weights(rnn: Any) -> None:
    time, batch = 5, 2
    shape = (batch, time, 4) if rnn.batch_first else (time, batch, 4)
    matrices = sum(weight.numel() for name, weight in rnn.named_parameters() if "weight" in name)
    assert rnn_flops(rnn, batch, time) == 2 * batch * time * matrices
    net = nn.Sequential(rnn)
    assert (
        trace("input", net, lambda: net(torch.zeros(shape)), with_gradients=False).flops == 2 * batch * time * matrices
    )


def test_named_inputs_are_passed_by_name(build: Build) -> None:
    ids = {"shape": [6], "dtype": "tokens", "vocabulary": 50}
    given = {"ids": ids, "mask": {"shape": [6], "value": 1}}
    network = build(model="user_nets:masked", input=given)
    assert network.work.input_shapes == {"ids": (4, 6), "mask": (4, 6)}
    assert float(network.train().detach()) > 0
    assert network.work.flops_per_item == 3 * 2 * 6 * 8 * 5


@pytest.mark.parametrize("loss", [*outputs.LOSSES, "user_nets:smooth"])
def test_every_loss_decreases(loss: str, build: Build) -> None:
    network = build(loss_function=loss, optimizer={"name": "momentum", "learning_rate": 0.1})
    losses = [float(network.train().detach()) for _ in range(20)]
    assert losses[-1] < losses[0]


def test_an_output_without_classes_needs_another_loss_in_training_only(build: Build) -> None:
    flat = {"model": "user_nets:flat"}
    assert build(task="inference", **flat).infer().shape == (4,)
    assert float(build(loss_function="mse", **flat).train().detach()) > 0
    assert float(build(loss_function="user_nets:squares", **flat).train().detach()) > 0
    with pytest.raises(BadModel, match=r"the output of shape .batch,. has no classes; set `loss_function`, e.g"):
        build(**flat)


def test_the_classes_of_logits_are_the_last_dimension_or_those_of_images() -> None:
    output = torch.randn(2, 5, 4, 3, dtype=torch.float64)
    targets = torch.randint(5, (2, 4, 3))
    per_pixel = outputs.cross_entropy(output, targets)
    assert torch.allclose(per_pixel, nn.functional.cross_entropy(output, targets))
    tokens = outputs.cross_entropy(output.movedim(1, -1).reshape(2, 12, 5), targets.reshape(2, 12))
    assert torch.allclose(tokens, per_pixel)


def test_a_step_of_the_user_trains_as_the_usual_one(build: Build) -> None:
    usual, own = build(), build(step="user_nets:step")
    for _ in range(3):
        assert torch.equal(usual.train(), own.train())
    pairs = zip(usual.weights(), own.weights(), strict=True)
    assert all((one == other).all() for one, other in pairs)
    with pytest.raises(BadModel, match="step: the function returned an object of type NoneType, not the loss"):
        build(step="user_nets:step_without_result").train()


def test_pickled_weights_are_refused_with_an_older_pytorch(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save(build(task="inference").model.state_dict(), tmp_path / "weights.pt")
    monkeypatch.setattr(external_build, "TORCH", (2, 5))
    with pytest.raises(Unsupported, match=r"'weights.pt' is a pickle file, which requires PyTorch 2.6 or newer"):
        build(task="inference", weights="weights.pt")


def test_weights_are_loaded_from_a_file(build: Build, tmp_path: Path) -> None:
    other = build(task="inference", seed=5)
    torch.save(other.model.state_dict(), tmp_path / "other.pt")
    for place in ("other.pt", "."):
        found = build(task="inference", weights=place).model.state_dict()
        assert all(torch.equal(value, found[name]) for name, value in other.model.state_dict().items())
    (tmp_path / "broken.pt").write_bytes(b"no weights")
    torch.save(other.model, tmp_path / "module.pt")
    for place, message in (
        ("broken.pt", "weights: broken.pt (cannot be loaded|contains objects other than tensors)"),
        (
            "module.pt",
            r"weights: module.pt contains objects other than tensors; save a state dict: torch.save\(model.state",
        ),
        (".", "must contain exactly one file"),
        ("nowhere", "weights: nowhere cannot be read: No such file or directory"),
    ):
        with pytest.raises(BadModel, match=message):
            build(weights=place)
    with pytest.raises(
        BadModel, match=r"other.pt cannot be loaded: .*size mismatch for 1.weight: copying a param with shape"
    ):
        build(weights="other.pt", model_options={"width": 9})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model": "user_nets:not_a_module"},
            "user_nets:not_a_module returned an object of type str, not a torch.nn.Mod",
        ),
        (
            {"model": "user_nets:scripted"},
            "^user_nets:scripted returned a TorchScript module; return the torch.nn.Module before torch.jit$",
        ),
        (
            {"model": "user_nets:scripted", "model_options": {"within": True}},
            "^user_nets:scripted returned a TorchScript module in '1'; return the torch.nn.Module before",
        ),
        ({"model": "user_nets:fails"}, "user_nets:fails cannot be built: RuntimeError: no weights today"),
        (
            {"model_options": {"depth": 3}},
            "cannot be built: TypeError: build.. got an unexpected keyword argument 'depth'",
        ),
        (
            {"input": {"shape": [5]}},
            r"the forward pass of .*:build with input of shape \(1, 5\), float32 failed: Runtime",
        ),
        (
            {"model": "user_nets:masked", "input": {"ids": {"shape": [6], "dtype": "tokens", "vocabulary": 50}}},
            "failed: TypeError: .*missing 1 required positional argument: 'mask'",
        ),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_with_the_reason(
    changes: dict[str, Any], message: str, build: Build
) -> None:
    with pytest.raises(BadModel, match=message):
        build(**changes)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("user_nets:each_alone", r"'user_nets:each_alone' returned shape \(8,\), not a scalar tensor"),
        ("user_nets:number", "'user_nets:number' returned an object of type float, not a scalar tensor"),
        ("torch.nn:CrossEntropyLoss", "'torch.nn:CrossEntropyLoss' is a class, not a function"),
    ],
)
def test_a_loss_that_cannot_be_used_is_named(loss: str, message: str, build: Build) -> None:
    with pytest.raises(BadModel, match="loss_function: " + message):
        build(loss_function=loss, batch_size=8).train()


@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers"])
def test_a_library_that_is_not_installed_is_unsupported(
    library: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Unsupported, match=rf"^{library} not found in .*; {ADVICE}$"):
        build(model=f"{library}/resnet18")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import torchvision", f"torchvision not found in {sys.executable} (required by timm)"),
        ("import torch.no_such", f"torch.no_such not found in {sys.executable} (required by timm)"),
        ("raise ImportError('libnone.so')", f"timm cannot be imported by {sys.executable} (libnone.so)"),
    ],
)
def test_a_package_that_a_library_lacks_is_named(
    line: str, message: str, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "timm.py").write_text(line)
    with pytest.raises(Unsupported) as error:
        build(model="timm/resnet18")
    assert str(error.value) == f"{message}; {ADVICE}"


def test_names_replace_the_positional_input_of_a_library() -> None:
    assert set(merged({UNNAMED: Input((3, 224, 224))}, {"x": {"shape": [3, 8, 8]}})) == {"x"}


def test_an_option_of_a_library_that_loads_weights_is_refused(build: Build) -> None:
    with pytest.raises(BadModel, match="model_options: 'weights' could download weights; use `weights` for a local"):
        build(model="torchvision/resnet18", model_options={"weights": "DEFAULT"})


def test_a_model_in_another_dtype_is_converted(build: Build) -> None:
    assert build(model="user_nets:in_bfloat16", task="inference").infer().dtype == torch.float32


def test_a_recurrent_network_may_be_called_by_keyword() -> None:
    rnn = nn.LSTM(4, 6)
    assert trace("input", rnn, lambda: rnn(input=torch.zeros(5, 2, 4)), with_gradients=False).flops > 0


def test_real_data_must_fit_the_model(build: Build, tmp_path: Path) -> None:
    import numpy as np

    images = np.random.default_rng(0).random((20, 3, 2, 2), dtype=np.float32)
    np.savez(tmp_path / "images.npz", x=images, y=np.arange(20) % 3)
    network = build(data={"npz": "images.npz", "imagefolder": None})
    assert float(network.train().detach()) > 0
    with pytest.raises(BadData, match="has labels from 0 to 2, and the model has 2 classes"):
        build(data={"npz": "images.npz", "imagefolder": None}, model_options={"classes": 2})


def test_real_data_need_an_output_of_classes(build: Build) -> None:
    with pytest.raises(
        BadModel, match=r"'data' requires a model with an output of shape \(batch, classes\), not \(1, 5"
    ):
        build(model="user_nets:per_pixel", data={"npz": "images.npz", "imagefolder": None})


def test_settings_that_the_users_module_changes_are_set_again(build: Build) -> None:
    threads = torch.get_num_threads()
    try:
        build(model="user_nets:changes_settings", intra_op_threads=threads)
        assert torch.get_num_threads() == threads
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("shape", [[3, 2, 4], [1, 2, 2], [12]])
def test_an_image_folder_needs_square_images_of_three_channels(shape: list[int], build: Build) -> None:
    with pytest.raises(BadModel, match=r"'data' is an image folder, which requires an input of shape \(3, n, n\)"):
        build(model="user_nets:any_size", input={"shape": shape}, data={"imagefolder": "images", "npz": None})


def test_fsdp_shards_the_blocks_that_repeat() -> None:
    def block() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    net = nn.ModuleDict({"stem": block(), "blocks": nn.ModuleList([block(), block()]), "head": nn.Linear(4, 2)})
    assert sharding.units(net) == list(net["blocks"])
    net._no_split_modules = {"Linear"}
    assert len(sharding.units(net)) == 4
    net._no_split_modules = {"Linear", "Sequential"}
    assert sharding.units(net) == [net["stem"], *net["blocks"], net["head"]], "no unit inside another one"
    net._no_split_modules = {"Linear"}
    net["head"].weight = net["stem"][0].weight  # tied, as the embeddings of language models
    assert len(sharding.units(net)) == 2
