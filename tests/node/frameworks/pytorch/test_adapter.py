"""PyTorch on the CPU: the models of the catalog, their work, and what the adapter promises."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.models import blocks, catalog, layers
from hpcbench.models.catalog import flops_per_item, resolved_options
from hpcbench.node.errors import Unsupported
from hpcbench.node.host import cpuinfo
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem
from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the PyTorch adapter")

from hpcbench.node.frameworks import load  # noqa: E402
from hpcbench.node.frameworks.pytorch import network as pytorch_network  # noqa: E402
from hpcbench.node.frameworks.pytorch.layers import sequential  # noqa: E402 - they need torch

Build = Callable[..., Any]


@pytest.fixture
def build(make_parameters: Callable[..., dict[str, Any]]) -> Iterator[Build]:
    """A tiny network on the CPU, through the adapter."""
    networks = []

    def make(model: str = "mlp", **changes: Any) -> Any:
        parameters = make_parameters(model=model, **{"model_options": TINY[model], "batch_size": 2, **changes})
        networks.append(load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1)))))
        return networks[-1]

    yield make
    for network in networks:
        network.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "lamb"}, "optimizer lamb cannot be used with strategy: deepspeed (ZeRO divides weight tensors"),
        ({"clip_value": 1.0}, "clip_value cannot be used with strategy: deepspeed; use clip_norm"),
    ],
)
def test_optimizers_that_zero_cannot_run_are_refused(build: Build, options: dict[str, Any], message: str) -> None:
    with pytest.raises(Unsupported) as error:
        build(strategy="deepspeed", task="training", optimizer={"name": "momentum", **options})
    assert message in str(error.value)


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune", "default"])
def test_accumulation_with_cuda_graphs_is_refused_with_a_fake_gpu(
    make_parameters: Callable[..., dict[str, Any]], mode: str
) -> None:
    optimizer = {"name": "sgd", "gradient_accumulation_steps": 2}
    asked = make_parameters(task="training", device="gpu", gpus_per_task=1, compile_mode=mode, optimizer=optimizer)
    case = problem.of_case(asked, Group(Ranks(0, 1)))
    refused = pytest.raises(Unsupported, match=f"cannot be used with compile_mode: {mode} on a GPU")
    with refused if mode != "default" else contextlib.nullcontext():
        pytorch_network.check_accumulation(case)


def weights(network: Any) -> Any:
    return torch.cat([torch.from_numpy(weight).flatten() for weight in network.weights()])


class NoWeights:
    """Stands for InitialWeights where only shapes matter: nothing is drawn."""

    def of(self, layer: layers.Layer, shape: layers.Shape) -> dict[str, np.ndarray]:
        zero = np.zeros(1, np.float32)
        return {name: np.broadcast_to(zero, weight.shape) for name, weight in layer.weights(shape).items()}


def on_meta(model: str, options: dict[str, Any] | None = None) -> Any:
    """The full model, whose operations can be counted without doing them."""
    chain, shape = catalog.network(model, resolved_options(model, options or {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nobody may write to the zeros
        return sequential(chain, shape, NoWeights()).to("meta")


@pytest.mark.parametrize(
    ("model", "options"), [*((model, {}) for model in sorted(catalog.MODELS)), ("lstm", {"bidirectional": True})]
)
def test_pytorch_and_the_catalog_count_the_same_parameters(model: str, options: dict[str, Any]) -> None:
    """What the catalog's counts are worth, test_catalog.py compares with the literature."""
    trained = [weight.numel() for weight in on_meta(model, options).parameters() if weight.requires_grad]
    assert sum(trained) == blocks.parameter_count(*catalog.network(model, resolved_options(model, options)))


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("mlp", {}),
        ("alexnet", {}),
        ("alexnet", {"image_size": 97}),
        ("vgg16", {"image_size": 64}),
        ("resnet50", {"image_size": 64}),
        ("resnet50", {"image_size": 97}),
        ("inception_v3", {}),
        ("inception_v3", {"image_size": 90}),
        ("transformer", {"sequence_length": 32, "layers": 3}),
        ("transformer", TINY["transformer"]),
        ("gpt", {"sequence_length": 64, "layers": 2}),
        ("gpt", TINY["gpt"]),
    ],
)
def test_the_catalog_counts_the_same_operations_as_pytorch(model: str, options: dict[str, Any]) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    full = resolved_options(model, options)
    network = on_meta(model, options).eval()
    shape = (2, *catalog.MODELS[model].input_shape(full))
    kind = torch.int64 if model in ("transformer", "gpt") else torch.float32
    batch = torch.zeros(shape, dtype=kind, device="meta")
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # its one fused operation is not counted
    try:
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            network(batch)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    items = 2 * catalog.MODELS[model].items_per_input(full)
    assert counter.get_total_flops() == items * flops_per_item(model, full, training=False)


@pytest.mark.parametrize("task", ["inference", "training"])
def test_gpt_does_not_use_later_tokens(build: Build, task: str) -> None:
    network = build(model="gpt", model_options=TINY["gpt"], task=task)
    inputs = next(network._batches)[0].clone()
    before = network.predict(inputs).clone()
    inputs[:, 4] = (inputs[:, 4] + 1) % 50
    after = network.predict(inputs)
    assert torch.allclose(before[:, :4], after[:, :4], atol=1e-6)
    assert not torch.allclose(before[:, 4:], after[:, 4:], atol=1e-3)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_lstm_multiplies_once_by_each_weight_at_each_time_step(bidirectional: bool) -> None:
    """FlopCounterMode counts nothing for nn.LSTM on the CPU; its matrices are its operations."""
    options = resolved_options("lstm", {"bidirectional": bidirectional})
    lstm, _, classifier = on_meta("lstm", {"bidirectional": bidirectional})
    matrices = sum(w.numel() for name, w in lstm.cells.named_parameters() if name.startswith("weight"))
    expected = 2 * (options["sequence_length"] * matrices + classifier.weight.numel())
    assert flops_per_item("lstm", options, training=False) == expected


@pytest.mark.parametrize("model", sorted(TINY))
def test_every_model_infers(build: Build, model: str) -> None:
    output = build(model, task="inference").infer()
    assert output.shape == ((2, 6, 50) if model == "gpt" else (2, 3))
    assert torch.isfinite(output).all()
    assert not output.requires_grad


@pytest.mark.parametrize("model", sorted(TINY))
def test_every_model_trains(build: Build, model: str) -> None:
    network = build(model, task="training")
    before = weights(network)
    loss = network.train()
    network.synchronize()
    assert math.isfinite(float(loss.detach()))
    assert not torch.equal(weights(network), before)


def test_every_model_of_the_catalog_is_tried_here() -> None:
    assert set(TINY) == set(catalog.MODELS)


def test_training_makes_the_loss_smaller(build: Build) -> None:
    network = build("mlp", task="training", batch_size=16)
    losses = [float(network.train().detach()) for _ in range(60)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("task", ["inference", "training"])
def test_a_network_reports_its_work(build: Build, task: str) -> None:
    network = build("mlp", task=task, batch_size=5)
    options = resolved_options("mlp", TINY["mlp"])
    assert network.work.parameter_count == 8 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3 == len(weights(network))
    assert network.work.flops_per_item == flops_per_item("mlp", options, task == "training")
    assert network.work.items_per_step == 5
    assert network.work.input_shapes == {"input": (5, 8)}
    assert network.work.dtype == "float32"
    assert network.peak_device_bytes() is None


def test_equal_seeds_give_equal_weights_input_and_labels(build: Build) -> None:
    first, second, other = build(seed=7), build(seed=7), build(seed=8)
    assert torch.equal(weights(first), weights(second))
    assert not torch.equal(weights(first), weights(other))
    batches = [next(network._batches) for network in (first, second, other)]
    assert all(map(torch.equal, batches[0], batches[1]))
    assert not torch.equal(batches[0][0], batches[2][0])


def test_the_largest_seed_that_an_experiment_may_name_works(build: Build) -> None:
    assert build(seed=2**32 - 1).infer().shape == (2, 3)


def test_equal_seeds_train_to_equal_weights(build: Build) -> None:
    networks = [build("mlp", task="training", seed=3) for _ in range(2)]
    for network in networks:
        for _ in range(3):
            network.train()
    assert torch.equal(weights(networks[0]), weights(networks[1]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("task", ["inference", "training"])
def test_16_bits_run_where_the_cpu_computes_in_them_and_are_unsupported_elsewhere(
    build: Build, dtype: str, task: str
) -> None:
    if not cpuinfo.computes_in(dtype):
        with pytest.raises(Unsupported, match=dtype):
            build("mlp", dtype=dtype, task=task)
        return
    network = build("mlp", dtype=dtype, task=task)
    assert network.work.dtype == dtype
    if task == "training":
        before = weights(network)
        # PyTorch's GradScaler starts at 65,536, skips the steps whose gradients overflow float16, and halves.
        losses = [float(network.train().detach()) for _ in range(8)]
        assert all(map(math.isfinite, losses))
        assert not torch.equal(weights(network), before)
        assert next(network.model.parameters()).dtype == torch.float32
    else:
        assert network.infer().dtype == getattr(torch, dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_cpu_without_16_bit_arithmetic_is_unsupported(
    build: Build, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    monkeypatch.setattr(cpuinfo, "computes_in", lambda dtype: False)
    with pytest.raises(Unsupported, match=f"no {dtype} arithmetic"):
        build("mlp", dtype=dtype)
    assert build("mlp", dtype="float32").infer().dtype == torch.float32


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU; not run: what is said where there is none")
def test_a_gpu_that_is_not_there_is_unsupported(build: Build) -> None:
    with pytest.raises(Unsupported, match="GPU"):
        build("mlp", device="gpu", gpus_per_task=1)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here; not run: torch.compile on the CPU")
def test_a_compiled_network_computes_the_same(build: Build) -> None:
    plain, compiled = build("mlp"), build("mlp", execution="compiled")
    assert torch.allclose(plain.infer(), compiled.infer(), atol=1e-5)
    assert type(compiled.model).__name__ == "OptimizedModule"


class Broken(torch.nn.Module):
    """Two products that torch.compile cannot take as one piece."""

    def __init__(self) -> None:
        super().__init__()
        self.products = torch.nn.ModuleList([torch.nn.Linear(8, 8), torch.nn.Linear(8, 3)])

    def forward(self, batch: Any) -> Any:
        batch = self.products[0](batch)
        torch._dynamo.graph_break()
        return self.products[1](batch)


PIECES = "torch.compile split the model into 2 graphs, and runs the code between them eagerly"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here; not run: what a compiled network's pieces are")
@pytest.mark.parametrize(("model", "told"), [(None, []), (Broken, [PIECES])])
def test_the_pieces_of_a_compiled_network_are_told(
    build: Build, monkeypatch: pytest.MonkeyPatch, model: type[Any] | None, told: list[str]
) -> None:
    from hpcbench.node.frameworks.pytorch.adapter import PyTorchNetwork

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()  # a worker has one network, and this process has many
    if model:
        monkeypatch.setattr(PyTorchNetwork, "model_of", lambda self, problem: model())
    network = build("mlp", execution="compiled")
    assert network.infer().shape == (2, 3)
    assert network.remarks() == told


def test_float32_is_float32_whatever_the_environment_says(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    """NVIDIA's own images have this variable."""
    code = f"""
import sys
sys.path.insert(0, {str(make_folder().zipapp)!r})
import torch
from hpcbench_carried.node.frameworks.pytorch import network
backends = torch.backends.cuda.matmul, torch.backends.cudnn
before = [each.allow_tf32 for each in backends]
network.set_arithmetic()
print(before, [each.allow_tf32 for each in backends])
"""
    environment = {**clean_environment, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[True, True] [False, False]\n", done.stderr


def test_deepspeed_that_is_not_there_is_unsupported_and_how_to_get_it_is_said(build: Build) -> None:
    with pytest.raises(Unsupported, match=r"DeepSpeed not found in .*hpcbench env build"):
        build("mlp", task="training", strategy="deepspeed")


def test_an_allocation_beyond_all_memory_is_recognised() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(10**15)
    adapter = load("pytorch")
    assert adapter.is_out_of_memory(refused.value)
    assert adapter.is_out_of_memory(MemoryError())
    assert adapter.is_out_of_memory(torch.OutOfMemoryError("XPU is full"))
    assert not adapter.is_out_of_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
    assert not adapter.is_out_of_memory(RuntimeError("the profiler ran out of memory events"))
    assert not adapter.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not adapter.is_out_of_memory(ValueError("DefaultCPUAllocator: not enough memory"))


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_the_compile_mode_of_a_case_is_torch_compiles(
    build: Build, monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    """Only what is handed to torch.compile: compiling takes a minute."""
    told = []
    monkeypatch.setattr(torch, "compile", lambda model, **named: told.append(named) or model)
    build(execution="compiled", compile_mode=mode)
    assert told == [{"mode": mode}]


@pytest.mark.parametrize(("intra", "inter"), [(1, 1), (2, 3)])
def test_threads_are_set_and_read_back_in_a_fresh_process(
    zipapp: Path, clean_environment: dict[str, str], intra: int, inter: int
) -> None:
    code = f"""
import json, sys
sys.path.insert(0, {str(zipapp)!r})
from hpcbench_carried.node.frameworks import load
adapter = load("pytorch")
adapter.set_threads({intra}, {inter})
print(json.dumps(adapter.threads()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment, capture_output=True, text=True, timeout=60, check=True
    )
    threads = json.loads(done.stdout)
    assert (threads["intra_op"], threads["inter_op"]) == (intra, inter)
    assert "torch.set_num_threads" in threads["by"]


def test_a_repetition_runs_from_the_zipapp_to_a_completed_record(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(model_options=TINY["mlp"], intra_op_threads=1, inter_op_threads=2, task="training")
    done = folder.rank(clean_environment)
    assert done.returncode == 0, done.stderr
    record = folder.record(0, clean_environment)
    assert record["status"] == "completed"
    assert record["error"] is None
    assert len(record["measurements"]["times_s"]) >= 2
    assert all(time_s > 0 for time_s in record["measurements"]["times_s"])
    assert (record["threads"]["intra_op"], record["threads"]["inter_op"]) == (1, 2)
    assert record["packages"]["torch"] == record["framework_version"] == torch.__version__
    assert record["work"]["parameter_count"] == 8 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3
    assert record["peak_memory_bytes"] > 10_000_000


def test_a_network_beyond_all_memory_is_an_out_of_memory_record(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(model_options={**TINY["mlp"], "input_size": 10**13})
    record = folder.record(folder.rank(clean_environment).returncode, clean_environment)
    assert record["status"] == "out_of_memory"
