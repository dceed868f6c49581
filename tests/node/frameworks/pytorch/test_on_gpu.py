"""The PyTorch adapter on a real GPU."""

from __future__ import annotations

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.models import catalog
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

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
}


def test_every_model_of_the_catalog_is_tried_here() -> None:
    assert set(SIZES) == set(catalog.MODELS)


@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("model", SIZES)
def test_every_model_runs_on_a_gpu_and_its_memory_is_known(model: str, dtype: str, task: str) -> None:
    from hpcbench.node.frameworks.pytorch.adapter import ADAPTER

    given = {"framework": "pytorch", "model": model, "task": task, "dtype": dtype, "device": "gpu", "batch_size": 4}
    parameters = Parameters.model_validate({**given, "gpus_per_task": 1, "model_options": SIZES[model]})
    network = ADAPTER.build(problem.of_case(parameters.model_dump(), Group(Ranks(0, 1))))
    step = network.infer if task == "inference" else network.train
    result = step()
    network.synchronize()
    assert result.is_cuda
    assert bool(torch.isfinite(result).all())
    assert (network.peak_device_bytes() or 0) > 0
