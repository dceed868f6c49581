"""Checks of the parameters of a model of a library, of the user's function or of an ONNX file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbench.core.frameworks import BACKWARD, TASKS
from hpcbench.errors import nearest
from hpcbench.models import inputs
from hpcbench.models.losses import CROSS_ENTROPY, LOSSES
from hpcbench.models.source import FUNCTION, ONNX, Source, split_function

if TYPE_CHECKING:
    from hpcbench.config.parameters import Parameters

PARAMETERS = ("input", "loss_function", "step", "weights")
STEP_STRATEGIES = ("single", "ddp", "fsdp")  # that keep a plain PyTorch model and optimizer
KERAS_WEIGHTS = ".weights.h5"
_UPDATING = tuple(name for name, task in TASKS.items() if task.trains and name != BACKWARD)


def check_absent(parameters: Parameters) -> None:
    """Raise ValueError if a shipped model has parameters of external models: its work would differ."""
    for name in PARAMETERS:
        if getattr(parameters, name) is not None:
            what = f"'{name}' requires a library model or your own, not the shipped model {parameters.model}"
            raise ValueError(f"{what}; remove '{name}'")


def check(parameters: Parameters, source: Source) -> None:
    """Raise ValueError if the parameters of an external model do not fit together."""
    if parameters.framework not in source.frameworks:
        known = ", ".join(source.frameworks)
        raise ValueError(f"'{parameters.model}' requires framework: {known}, not {parameters.framework}")
    if source.kind == ONNX:
        _check_onnx(parameters)
        return
    _check_input(parameters, source)
    _check_loss(parameters)
    _check_step(parameters)
    _check_weights(parameters)


def _check_onnx(parameters: Parameters) -> None:
    """Raise ValueError for parameters that an ONNX file, which is only run, does not use."""
    for name in ("model_options", "loss_function", "step", "weights", "data"):
        if getattr(parameters, name):
            raise ValueError(f"'{name}' cannot be used with an ONNX file; remove '{name}'")


def _check_input(parameters: Parameters, source: Source) -> None:
    given = parameters.model_dump(mode="json")["input"]
    if given is None:
        if source.kind == FUNCTION:
            raise ValueError(
                f"'input' is missing: '{parameters.model}' requires it, e.g. input: {{shape: [3, 224, 224]}}"
            )
    elif source.kind == FUNCTION:
        inputs.merged({}, given)


def _check_loss(parameters: Parameters) -> None:
    loss = parameters.loss_function
    if loss is not None and loss not in LOSSES:
        if ":" not in loss:
            raise ValueError(f"unknown loss '{loss}'; {nearest(loss, LOSSES)}")
        split_function(loss)
    if loss not in (None, CROSS_ENTROPY) and parameters.data is not None:
        raise ValueError(f"loss_function: {loss} cannot be used with data, whose targets are class indices")


def _check_step(parameters: Parameters) -> None:
    if parameters.step is None:
        return
    if parameters.framework != "pytorch":
        raise ValueError(f"step requires framework: pytorch, not {parameters.framework}; use loss_function")
    split_function(parameters.step)
    if parameters.task not in _UPDATING:
        raise ValueError(f"step requires task: {' or '.join(_UPDATING)}, not task: {parameters.task}")
    if parameters.loss_function is not None:
        raise ValueError("step cannot be used with loss_function; compute the loss in the step")
    if parameters.strategy not in STEP_STRATEGIES:
        raise ValueError(f"step cannot be used with strategy: {parameters.strategy}; use {', '.join(STEP_STRATEGIES)}")
    for name in ("clip_norm", "clip_value"):
        if getattr(parameters.optimizer, name) is not None:
            raise ValueError(f"step cannot be used with {name}; clip gradients in the step")
    if (parameters.optimizer.gradient_accumulation_steps or 1) > 1:
        raise ValueError("step cannot be used with gradient_accumulation_steps; accumulate gradients in the step")
    if parameters.dtype == "float16":
        raise ValueError("step cannot be used with dtype: float16, which needs loss scaling; use bfloat16")


def _check_weights(parameters: Parameters) -> None:
    if parameters.weights is None or parameters.framework == "pytorch":
        return
    if parameters.framework == "jax":
        raise ValueError("weights cannot be used with framework: jax; load them in your function")
    if not parameters.weights.endswith(KERAS_WEIGHTS):
        hint = "write one with model.save_weights()"
        raise ValueError(f"weights: '{parameters.weights}' is not a {KERAS_WEIGHTS} file; {hint}")
