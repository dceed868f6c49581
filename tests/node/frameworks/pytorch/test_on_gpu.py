"""The PyTorch adapter on a real GPU."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.core.validation.result import PASSED
from hpcbench.models import catalog
from hpcbench.models.operators.catalog import OPERATORS, phases_of
from hpcbench.node.frameworks.profile_request import ProfileRequest
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.measurement.stopping_rules import Settings
from hpcbench.node.worker.validation.validate import validate
from hpcbench.node.workload import problem
from tests.models.operators.small_sizes import SIZES as SMALL

torch = pytest.importorskip("torch")

if not torch.cuda.is_available():
    pytest.skip("no GPU here; not run: the PyTorch adapter on a GPU", allow_module_level=True)

pytestmark = [pytest.mark.gpu, pytest.mark.torch]

SIZES = {
    "mlp": {"hidden_size": 64},
    "lstm": {"hidden_size": 64, "sequence_length": 8},
    "lstm_stack": {"hidden_size": 64, "narrow_size": 16, "sequence_length": 8, "attention": True},
    "alexnet": {"image_size": 63},
    "vgg16": {"image_size": 32},
    "resnet50": {"image_size": 64},
    "inception_v3": {"image_size": 75},
    "transformer": {"hidden_size": 64, "layers": 2, "heads": 4, "feed_forward_size": 128, "sequence_length": 16},
    "gpt": {"hidden_size": 64, "layers": 2, "heads": 4, "feed_forward_size": 128, "sequence_length": 16},
}


def built(**given: Any) -> Any:
    """Return the network or operator of a case on a GPU, as a worker builds it."""
    from hpcbench.node.frameworks.pytorch.adapter import ADAPTER

    parameters = Parameters.model_validate({"framework": "pytorch", "device": "gpu", "gpus_per_task": 1, **given})
    return ADAPTER.build(problem.of_case(parameters.model_dump(), Group(Ranks(0, 1))))


def test_every_model_of_the_catalog_is_tried_here() -> None:
    assert set(SIZES) == set(catalog.MODELS)


@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("model", SIZES)
def test_every_model_runs_on_a_gpu_and_its_memory_is_known(model: str, dtype: str, task: str) -> None:
    network = built(model=model, task=task, dtype=dtype, batch_size=4, model_options=SIZES[model])
    step = network.infer if task == "inference" else network.train
    result = step()
    network.synchronize()
    assert result.is_cuda
    assert bool(torch.isfinite(result).all())
    assert (network.peak_device_bytes() or 0) > 0


@pytest.mark.parametrize("operator", [name for name, operator in OPERATORS.items() if not operator.is_collective])
def test_every_operator_is_validated_on_a_gpu(operator: str) -> None:
    for phase in phases_of(operator):
        found = validate(built(task="operator", operator=operator, sizes=SMALL[operator][0], phase=phase), None, [])
        assert (found.verdict, found.reason) == (PASSED, None), phase


def test_a_training_is_profiled_on_a_gpu() -> None:
    from hpcbench.node.frameworks.pytorch.adapter import ADAPTER

    settings = Settings(precision=0.05, min_measurements=7, min_time_s=0.01, max_time_s=0.2, max_warmup_s=0.1)
    network = built(model="mlp", task="training", batch_size=4, model_options=SIZES["mlp"])
    found: list[OperatorRow] = []
    ADAPTER.profile(network, ProfileRequest(settings, [1e-3] * 7), found.append)
    whole, *operators = found
    assert whole.kind == "network"
    assert {row.device for row in found} == {"gpu"}
    assert {row.phase for row in operators} == {"forward", "backward", "optimizer"}
    assert [row.operator for row in operators if row.hot_s is None and row.reason is None] == []
