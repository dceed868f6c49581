"""The parameters of models of libraries and of the user: what fits together."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hpcbench.config.parameters import Parameters

OWN = {"model": "nets:build", "input": {"shape": [3, 8, 8]}}


def parameters(**given: Any) -> Parameters:
    return Parameters.model_validate({"framework": "pytorch", **given})


def test_the_environment_of_a_library_is_that_of_the_zoo() -> None:
    assert parameters(model="torchvision/resnet18").environment_name == "pytorch-zoo"
    assert parameters(**OWN).environment_name == "pytorch"
    assert parameters(model="timm/resnet18", environment="pytorch").environment_name == "pytorch"
    assert parameters(model="timm/resnet18", strategy="horovod").environment_name == "horovod-pytorch"
    assert parameters(framework="keras-jax", model="keras-applications/VGG16").environment_name == "keras-jax"


def test_functions_of_the_user_run_in_keras_and_jax() -> None:
    for framework in ("keras-torch", "keras-jax", "keras-tensorflow", "jax"):
        assert parameters(framework=framework, **OWN).environment_name == framework
    assert parameters(framework="keras-torch", weights="a.weights.h5", **OWN).weights == "a.weights.h5"


def test_the_plan_has_the_fields_of_inputs_that_are_set() -> None:
    named = {"ids": {"shape": [4], "dtype": "tokens", "vocabulary": 9}, "mask": {"shape": [4], "value": 1}}
    assert parameters(**OWN).planned()["input"] == {"shape": [3, 8, 8]}
    assert parameters(model="nets:build", input=named).planned()["input"] == named
    assert "input" not in parameters(model="mlp").content()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"model": "mlp", "input": {"shape": [4]}},
            "'input' requires a library model or your own, not the shipped model mlp; remove 'input'",
        ),
        (
            {"model": "mlp", "loss_function": "mse"},
            "'loss_function' requires a library model or your own, not the shipped model mlp",
        ),
        ({"model": "mlpp"}, "unknown model 'mlpp'; did you mean 'mlp'?"),
        ({"model": "resnet18"}, r"did you mean 'resnet50'? (models of libraries: torchvision/NAME, timm/NAME, "),
        ({"model": "nets:build"}, "'input' is missing: 'nets:build' requires it, e.g. input: {shape: [3, 224, 224]}"),
        (
            {"framework": "mxnet", **OWN},
            "requires framework: pytorch, keras-torch, keras-jax, keras-tensorflow, jax, not mxnet",
        ),
        (
            {"model": "keras-applications/ResNet50"},
            "requires framework: keras-torch, keras-jax, keras-tensorflow, not pytorch",
        ),
        ({"framework": "mxnet", "model": "timm/resnet18"}, "'timm/resnet18' requires framework: pytorch, not mxnet"),
        ({**OWN, "loss_function": "mes"}, "unknown loss 'mes'; did you mean 'mse'?"),
        ({**OWN, "loss_function": "nets:"}, "invalid function 'nets:'"),
        ({**OWN, "loss_function": "mse", "data": {"npz": "x.npz"}}, "loss_function: mse cannot be used with data"),
        ({**OWN, "step": "step"}, "invalid function 'step'"),
        (
            {**OWN, "framework": "keras-jax", "step": "a:b"},
            "step requires framework: pytorch, not keras-jax; use loss_function",
        ),
        ({**OWN, "framework": "jax", "weights": "w.npz"}, "weights cannot be used with framework: jax; load them in"),
        ({**OWN, "framework": "keras-torch", "weights": "w.keras"}, "'w.keras' is not a .weights.h5 file"),
        ({**OWN, "step": "a:b", "loss_function": "mse"}, "step cannot be used with loss_function"),
        (
            {**OWN, "step": "a:b", "task": "inference"},
            "step requires task: training or time_to_accuracy, not task: inference",
        ),
        (
            {**OWN, "step": "a:b", "task": "backward"},
            "step requires task: training or time_to_accuracy, not task: backward",
        ),
        ({**OWN, "step": "a:b", "strategy": "deepspeed"}, "step cannot be used with strategy: deepspeed"),
        ({**OWN, "step": "a:b", "dtype": "float16"}, "step cannot be used with dtype: float16"),
        (
            {**OWN, "step": "a:b", "optimizer": {"clip_norm": 1}},
            "step cannot be used with clip_norm; clip gradients in",
        ),
        (
            {**OWN, "step": "a:b", "optimizer": {"gradient_accumulation_steps": 2}},
            "step cannot be used with gradient_accumulation_steps",
        ),
        ({"model": "nets:build", "input": {"shape": [0]}}, "greater than or equal to 1"),
        ({"model": "nets:build", "input": {"shap": [1]}}, "Extra inputs are not permitted"),
        ({"model": "nets:build", "input": {"a": {"shape": [1]}, "b": 3}}, "Extra inputs are not permitted"),
        ({"model": "nets:build", "input": {}}, "the inputs must be a mapping"),
        ({"model": "nets:build", "input": [3, 8]}, "the inputs must be a mapping"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        parameters(**given)
    assert message in str(error.value)


NET = {"framework": "onnxruntime", "model": {"onnx": "net.onnx"}}


def test_an_onnx_file_has_one_name_and_only_infers() -> None:
    found = parameters(**NET)
    assert (found.model, found.task, found.environment_name) == ("onnx:net.onnx", "inference", "onnxruntime")
    assert found.content() == {"framework": "onnxruntime", "model": "onnx:net.onnx", "task": "inference"}
    assert parameters(**{**NET, "model": "onnx:net.onnx", "task": "inference"}) == found
    assert parameters(model="mlp").task == "training"


def test_tasks_without_a_parallel_strategy_are_replicas() -> None:
    assert parameters(**NET, nodes=2, tasks_per_node=3).tasks == 6
    with pytest.raises(ValidationError, match="the strategy single allows one task, not 2; use one of: ddp"):
        parameters(model="mlp", tasks_per_node=2)


FORMS = "'model' must be NAME, LIBRARY/NAME, MODULE:FUNCTION or {onnx: FILE}, e.g. model: nets:build"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "training"}, "task: training cannot be used with framework: onnxruntime; use task: inference"),
        (
            {"model": "mlp"},
            "'mlp' cannot be used with framework: onnxruntime; use an ONNX file, e.g. model: {onnx: net.onnx}",
        ),
        ({"model": None}, "'model' is missing: onnxruntime requires an ONNX file, e.g. model: {onnx: net.onnx}"),
        (
            {"model": "nets:build", **OWN},
            "'nets:build' requires framework: pytorch, keras-torch, keras-jax, keras-tensorflow, jax, not onnxruntime",
        ),
        ({"framework": "pytorch"}, "'onnx:net.onnx' requires framework: onnxruntime, not pytorch"),
        ({"model": {"onx": "net.onnx"}}, FORMS),
        ({"model": {"onnx": "a", "b": 1}}, FORMS),
        ({"model": {"function": "nets:net"}}, FORMS),
        ({"model": "net.onnx"}, "unknown model 'net.onnx'; did you mean model: {onnx: net.onnx}?"),
        ({"model": "my.nets.build"}, "unknown model 'my.nets.build'; did you mean model: my.nets:build?"),
        ({"model": "nets.py:build"}, "'nets.py:build' names a file; write the module without .py: nets:build"),
        ({"model": {"onnx": 3}}, FORMS),
        ({"model": {"onnx": ""}}, "invalid model 'onnx:'; use onnx:FILE, e.g. onnx:net.onnx"),
        ({"strategy": "ddp"}, "onnxruntime has no strategy 'ddp'; use one of: single"),
        ({"execution": "eager"}, "onnxruntime has no execution 'eager'; use one of: graph"),
        *(
            ({name: value}, f"'{name}' cannot be used with an ONNX file; remove '{name}'")
            for name, value in {
                "model_options": {"width": 3},
                "loss_function": "mse",
                "step": "nets:step",
                "weights": "net.pt",
                "data": {"npz": "x.npz"},
            }.items()
        ),
    ],
)
def test_parameters_without_effect_on_onnx_files_are_rejected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        parameters(**{**NET, **given})
    assert message in str(error.value)


def test_a_command_has_no_model_of_a_library() -> None:
    with pytest.raises(ValidationError, match="'loss_function' cannot be used with framework: command"):
        Parameters.model_validate({"framework": "command", "command": "true", "loss_function": "mse"})
