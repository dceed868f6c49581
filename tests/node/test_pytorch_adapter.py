"""PyTorch on the CPU: the models of the catalog, their work, and what the adapter promises."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node import catalog, hardware
from hpcbench.node.catalog import flops_per_item, resolved_options
from hpcbench.node.outcomes import Unsupported
from hpcbench.node.ranks import Ranks

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the PyTorch adapter")

from hpcbench.node.frameworks import load, pytorch_models  # noqa: E402 - they need torch

ALONE = Ranks(0, 1, 0, "127.0.0.1", 20000)
TINY: dict[str, dict[str, Any]] = {
    "mlp": {"input_size": 8, "hidden_size": 16, "layers": 2, "classes": 3},
    "lstm": {"input_size": 4, "hidden_size": 8, "layers": 1, "sequence_length": 5, "classes": 3},
    "vgg16": {"image_size": 32, "classes": 3},
    "resnet50": {"image_size": 32, "classes": 3},
    "transformer": {
        "hidden_size": 16,
        "layers": 2,
        "heads": 2,
        "feed_forward_size": 32,
        "vocabulary": 50,
        "positions": 16,
        "sequence_length": 6,
        "classes": 3,
    },
}

Build = Callable[..., Any]


@pytest.fixture
def build(make_parameters: Callable[..., dict[str, Any]]) -> Iterator[Build]:
    """A tiny network on the CPU, through the adapter."""
    networks = []

    def make(model: str = "mlp", ranks: Ranks = ALONE, **changes: Any) -> Any:
        parameters = make_parameters(model=model, **{"model_options": TINY[model], "batch_size": 2, **changes})
        networks.append(load("pytorch").build(parameters, ranks))
        return networks[-1]

    yield make
    for network in networks:
        network.close()


def weights(network: Any) -> Any:
    return torch.cat([weight.detach().flatten().float() for weight in network.model.parameters()])


def on_meta(model: str, options: dict[str, Any] | None = None) -> Any:
    """The full model without memory for its weights."""
    with torch.device("meta"):
        return pytorch_models.build(model, resolved_options(model, options or {}))


@pytest.mark.parametrize(
    ("model", "without", "count"),
    [
        ("vgg16", "", 138_357_544),  # Simonyan and Zisserman (2015), and every zoo
        ("resnet50", "", 25_557_032),  # torchvision, Keras without biases
        ("transformer", "classifier", 109_482_240),  # Devlin et al. (2019): BERT-base with its pooler
    ],
)
def test_a_model_has_as_many_parameters_as_the_literature_says(model: str, without: str, count: int) -> None:
    named = on_meta(model).named_parameters()
    assert sum(weight.numel() for name, weight in named if not without or not name.startswith(without)) == count


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("mlp", {}),
        ("vgg16", {"image_size": 64}),
        ("resnet50", {"image_size": 64}),
        ("resnet50", {"image_size": 97}),
        ("transformer", {"sequence_length": 32, "layers": 3}),
        ("transformer", TINY["transformer"]),
    ],
)
def test_the_catalog_counts_the_same_operations_as_pytorch(model: str, options: dict[str, Any]) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    full = resolved_options(model, options)
    network = on_meta(model, options).eval()
    shape = (2, *catalog.MODELS[model].input_shape(full))
    kind = torch.int64 if model == "transformer" else torch.float32
    batch = torch.zeros(shape, dtype=kind, device="meta")
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # its one fused operation is not counted
    try:
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            network(batch)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    assert counter.get_total_flops() == 2 * flops_per_item(model, full, "inference")


@pytest.mark.parametrize("bidirectional", [False, True])
def test_an_lstm_multiplies_once_by_each_weight_at_each_time_step(bidirectional: bool) -> None:
    """FlopCounterMode counts nothing for nn.LSTM on the CPU; its matrices are its operations."""
    options = resolved_options("lstm", {"bidirectional": bidirectional})
    network = on_meta("lstm", {"bidirectional": bidirectional})
    matrices = sum(w.numel() for name, w in network.lstm.named_parameters() if name.startswith("weight"))
    expected = 2 * (options["sequence_length"] * matrices + network.classifier.weight.numel())
    assert flops_per_item("lstm", options, "inference") == expected


@pytest.mark.parametrize("model", sorted(TINY))
def test_every_model_infers(build: Build, model: str) -> None:
    output = build(model, task="inference").infer()
    assert output.shape == (2, 3)
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
    assert network.work.parameter_count == sum(weight.numel() for weight in network.model.parameters())
    assert network.work.flops_per_item == flops_per_item("mlp", options, task)
    assert network.work.items_per_step == 5
    assert network.work.input_shape == (5, 8)
    assert network.work.dtype == "float32"
    assert network.peak_device_bytes() is None


def test_equal_seeds_give_equal_weights_input_and_labels(build: Build) -> None:
    first, second, other = build(seed=7), build(seed=7), build(seed=8)
    assert torch.equal(weights(first), weights(second))
    assert torch.equal(first.batch, second.batch)
    assert torch.equal(first.labels, second.labels)
    assert not torch.equal(weights(first), weights(other))
    assert not torch.equal(first.batch, other.batch)


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
    if not hardware.cpu_computes_in(dtype):
        with pytest.raises(Unsupported, match=dtype):
            build("mlp", dtype=dtype, task=task)
        return
    network = build("mlp", dtype=dtype, task=task)
    assert network.work.dtype == dtype
    if task == "training":
        before = weights(network)
        assert math.isfinite(float(network.train().detach()))
        assert not torch.equal(weights(network), before)
        assert next(network.model.parameters()).dtype == torch.float32
    else:
        assert network.infer().dtype == getattr(torch, dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_cpu_without_16_bit_arithmetic_is_unsupported(
    build: Build, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    monkeypatch.setattr(hardware, "cpu_computes_in", lambda dtype: False)
    with pytest.raises(Unsupported, match=f"no {dtype} arithmetic"):
        build("mlp", dtype=dtype)
    assert build("mlp", dtype="float32").infer().dtype == torch.float32


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU; not run: what is said where there is none")
def test_a_gpu_that_is_not_there_is_unsupported(build: Build) -> None:
    with pytest.raises(Unsupported, match="GPU"):
        build("mlp", device="gpu", gpus_per_task=1)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here; not run: torch.compile on the CPU")
def test_a_compiled_network_computes_the_same(build: Build) -> None:
    plain, compiled = build("mlp"), build("mlp", compile=True)
    assert torch.allclose(plain.infer(), compiled.infer(), atol=1e-5)
    assert type(compiled.model).__name__ == "OptimizedModule"


def test_an_allocation_beyond_all_memory_is_recognised() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(10**15)
    adapter = load("pytorch")
    assert adapter.is_out_of_memory(refused.value)
    assert adapter.is_out_of_memory(MemoryError())
    assert not adapter.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not adapter.is_out_of_memory(ValueError("DefaultCPUAllocator: not enough memory"))


def test_a_strategy_of_one_rank_agrees_with_itself(build: Build) -> None:
    assert build().agree(0.25) == 0.25


@pytest.mark.parametrize(("intra", "inter"), [(1, 1), (2, 3)])
def test_threads_are_set_and_read_back_in_a_fresh_process(
    zipapp: Path, clean_environment: dict[str, str], intra: int, inter: int
) -> None:
    code = f"""
import json, sys
sys.path.insert(0, {str(zipapp)!r})
from hpcbench_node.frameworks import load
adapter = load("pytorch")
adapter.set_threads({intra}, {inter})
print(json.dumps(adapter.threads()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == {"intra_op": intra, "inter_op": inter}


def test_a_repetition_runs_from_the_zipapp_to_a_completed_record(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(model_options=TINY["mlp"], intra_op_threads=1, inter_op_threads=2, task="training")
    done = folder.rank(clean_environment)
    assert done.returncode == 0, done.stderr
    record = folder.record(0, clean_environment)
    assert record["status"] == "completed"
    assert record["error"] is None
    assert len(record["samples"]["times_s"]) >= 2
    assert all(time_s > 0 for time_s in record["samples"]["times_s"])
    assert record["threads"] == {"intra_op": 1, "inter_op": 2}
    assert record["packages"]["torch"] == torch.__version__
    assert record["work"]["parameter_count"] == 8 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3
    assert record["peak_memory_bytes"] > 10_000_000


def test_a_network_beyond_all_memory_is_an_out_of_memory_record(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(model_options={**TINY["mlp"], "input_size": 10**13})
    record = folder.record(folder.rank(clean_environment).returncode, clean_environment)
    assert record["status"] == "out_of_memory"


# A task of its own that the launcher starts: it trains through the adapter and says what its weights became.
TRAIN = """
import json, os, sys
zipapp, parameters, out = sys.argv[1:]
sys.path.insert(0, zipapp)
from hpcbench_node.frameworks import load
from hpcbench_node.ranks import from_environment
import torch
ranks = from_environment(os.environ)
torch.set_num_threads(1)
network = load("pytorch").build(json.loads(parameters), ranks)
for _ in range(3):
    network.train()
whole = [w.full_tensor() if hasattr(w, "full_tensor") else w for w in network.model.parameters()]
said = {
    "weights": sum(float(w.detach().double().sum()) for w in whole),
    "input": float(network.batch.double().sum()),
    "agreed": network.agree(float(ranks.rank + 5)),
    "items": network.work.items_per_step,
    "parameters": network.work.parameter_count,
}
with open(os.path.join(out, str(ranks.rank)), "w") as file:
    json.dump(said, file)
network.close()
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_two_ranks_train_one_set_of_weights_on_data_of_their_own(
    tmp_path: Path,
    make_folder: Callable[..., Any],
    make_parameters: Callable[..., dict[str, Any]],
    clean_environment: dict[str, str],
    strategy: str,
) -> None:
    options = {"model_options": TINY["mlp"], "task": "training", "strategy": strategy, "tasks_per_node": 2}
    folder = make_folder(**options)
    command = [sys.executable, "-c", TRAIN, str(folder.zipapp), json.dumps(make_parameters(**options)), str(tmp_path)]
    words = folder.spawn_words(2, 1, command)
    done = subprocess.run(words, env=clean_environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / rank).read_text()) for rank in ("0", "1"))
    assert first["weights"] == pytest.approx(second["weights"], abs=1e-9)
    assert first["input"] != second["input"]
    assert first["agreed"] == second["agreed"] == 5.0
    assert first["items"] == 2 * 4
    assert first["parameters"] == second["parameters"] == 8 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3


def test_two_ranks_leave_one_record_with_the_samples_of_both(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    if len(hardware.usable_cpus()) < 2:
        pytest.skip("needs two CPUs; not run: a DDP repetition through the zipapp")
    folder = make_folder(model_options=TINY["mlp"], task="training", strategy="ddp", tasks_per_node=2)
    words = folder.spawn_words(2, 1, folder.words("rank"))
    done = subprocess.run(words, env=clean_environment, capture_output=True, text=True, timeout=120, check=False)
    record = folder.record(done.returncode, clean_environment)
    assert record["status"] == "completed", done.stderr
    assert [rank["status"] for rank in record["ranks"]] == ["completed"] * 2
    assert len(record["samples"]["times_s"]) >= 2
    assert record["work"]["items_per_step"] == 2 * 4
    assert record["affinity"][0] != record["affinity"][1]
