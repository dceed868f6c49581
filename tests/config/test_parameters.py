from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hpcbench.config.parameters import Parameters


def parameters(**given: Any) -> Parameters:
    return Parameters.model_validate({"framework": "pytorch", "model": "lstm", **given})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"framework": "pytorh"}, "did you mean 'pytorch'"),
        ({"model": "lsmt"}, "did you mean 'lstm'"),
        ({"strategy": "dp"}, "pytorch has no strategy 'dp'; use one of: single, ddp, fsdp, horovod, deepspeed"),
        ({"strategy": "kvstore"}, "pytorch has no strategy 'kvstore'"),
        (
            {"task": "backward", "strategy": "deepspeed"},
            "strategy: deepspeed of pytorch cannot be used with task: backward; its ranks communicate in the update",
        ),
        ({"framework": "mxnet", "task": "backward", "strategy": "horovod"}, "cannot be used with task: backward"),
        (
            {"task": "input_pipeline", "data": {"npz": "x.npz"}, "validate": True},
            "'validate' cannot be used with task: input_pipeline; use task: backward",
        ),
        (
            {"task": "time_to_accuracy", "target_accuracy": 0.9, "validate": True},
            "'validate' with task: time_to_accuracy requires 'data'; set it, or use task: backward",
        ),
        ({"framework": "jax", "strategy": "ddp"}, "jax has no strategy 'ddp'; use one of: single, data_parallel"),
        ({"nodes": 2}, "the strategy single allows one task, not 2; use one of: ddp, fsdp, horovod, deepspeed"),
        ({"tasks_per_node": 2, "task": "inference"}, "the strategy single allows one task, not 2"),
        ({"averaging_period": 0}, "greater than or equal to 1"),
        ({"framework": "jax", "strategy": "local_sgd"}, "jax has no strategy 'local_sgd'"),
        ({"device": "gpu", "gpus_per_task": 0}, "gpus_per_task must be 1 or more"),
        ({"page_cache": "cold"}, "page_cache requires task: input_pipeline, not training"),
        ({"task": "input_pipeline"}, "task input_pipeline requires data: synthetic input has no pipeline"),
        (
            {"task": "input_pipeline", "data": {"npz": "x.npz"}, "page_cache": "cold"},
            "page_cache: cold requires data: {imagefolder: ...}; an npz file is read into memory first",
        ),
        (
            {"task": "input_pipeline", "data": {"imagefolder": "x"}, "model": "torchvision/resnet18"},
            "task input_pipeline requires a shipped model, which determines the shape of an item",
        ),
        ({"model_options": {"hidden": 1}}, "has no option 'hidden'; it has: bidirectional"),
        ({"model_options": {"layers": True}}, "must be a whole number"),
        ({"model_options": {"layers": "2"}}, "must be a whole number"),
        ({"model_options": {"bidirectional": 1}}, "must be true or false"),
        ({"model_options": {"layers": 0}}, "whole number above 0"),
        ({"model_options": {"layers": 1.5}}, "whole number above 0"),
        ({"task": "sleeping"}, "'inference', 'backward', 'training'"),
        ({"device": "tpu"}, "'cpu' or 'gpu'"),
        ({"dtype": "float64"}, "'float32'"),
        ({"nodes": -1}, "greater than or equal to 1"),
        ({"batch_size": 0}, "greater than or equal to 1"),
        ({"batch_size": "16"}, "valid integer"),
        ({"batch_size": 16.0}, "valid integer"),
        ({"batch_size": True}, "valid integer"),
        ({"execution": "fast"}, "pytorch has no execution 'fast'; use one of: eager, compiled"),
        ({"execution": "graph"}, "pytorch has no execution 'graph'"),
        ({"framework": "jax", "execution": "eager"}, "jax has no execution 'eager'; use one of: compiled"),
        ({"execution": 1}, "valid string"),
        ({"seed": 2**32}, "less than or equal to"),
        ({"intra_op_threads": 0}, "greater than or equal to 1"),
        ({"model_options": {"layers": float("inf")}}, "must be a whole number"),
        ({"model_options": {"layers": 3.0}}, "must be a whole number"),
    ],
)
def test_parameters_that_cannot_be_run_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parameters(**given)
    assert words in str(caught.value)
