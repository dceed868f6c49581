"""An operator of the user on PyTorch: its functions receive tensors by name."""

import zlib
from functools import partial
from typing import Any, Callable, Dict, Sequence, Tuple, cast

import torch

from ....models.operators.operator import FORWARD
from ...errors import BadModel, Unsupported
from ...workload.own_operator import OwnOperator
from ..operator_call import OUTPUT, Request

Tensors = Dict[str, torch.Tensor]


def built(operator: OwnOperator, tensors: Tensors) -> Tuple[Callable[..., torch.Tensor], Tensors]:
    """Return the function `forward`, which takes the tensors by name. Raise BadModel if it lacks one of them."""
    arguments = operator.file.arguments("forward", {**operator.sizes, **tensors})
    missing = [name for name in tensors if name not in arguments]
    if missing:
        values = (operator.file.title("forward"), missing[0])
        raise BadModel("operator: %s does not have the argument '%s', an array of `inputs`" % values)
    sizes = {name: value for name, value in arguments.items() if name not in tensors}
    return partial(operator.file.function("forward"), **sizes), tensors


def backward(
    operator: OwnOperator, request: Request, output: torch.Tensor, tensors: Tensors, cotangent: torch.Tensor
) -> Callable[[], Tuple[torch.Tensor, ...]]:
    """Return the call of the function `backward`. `output` is the result of the forward pass."""
    extra = {"cotangent": cotangent, "output": output.detach(), "wanted": tuple(request.wanted)}
    arguments = operator.file.arguments("backward", {**operator.sizes, **tensors, **extra})
    function, wanted = operator.file.function("backward"), request.wanted

    def call() -> Tuple[torch.Tensor, ...]:
        with torch.no_grad():
            found = function(**arguments)
        return tuple(found[name] for name in wanted)

    before = _checksums(arguments)
    found = operator.file.guarded("backward", lambda: function(**arguments))
    _check_unchanged(operator, "backward", arguments, before)
    operator.named("backward", found, wanted)
    return call


def has_backward(operator: Any) -> bool:
    """Return whether an operator is the user's, with a backward pass of its own."""
    return isinstance(operator, OwnOperator) and operator.file.value("backward") is not None


def check_output(operator: OwnOperator, output: Any) -> None:
    """Raise BadModel if a backward pass cannot start from the result of the forward pass."""
    title = operator.file.title("forward")
    _check_shape(title, OUTPUT, output, operator.output().shape)
    if not has_backward(operator) and not output.requires_grad:
        raise BadModel(
            "operator: the result of %s does not require grad (detached?); use differentiable operations of PyTorch, "
            "or add the function `backward`" % title
        )


def checked(request: Request, tensors: Tensors, build: Callable[[], Callable[[], Any]]) -> Callable[[], Any]:
    """Return the call that `build` makes. An operator of the user is called once.

    Raise BadModel if it fails, changes its arguments `tensors`, or returns something else than tensors of the right
    shape. In float64, in which gradients are checked, raise Unsupported: the operator need not have it.
    """
    operator = request.operator
    if not isinstance(operator, OwnOperator):
        return build()
    name = "forward" if request.phase == FORWARD or not has_backward(operator) else "backward"
    try:
        before = _checksums(tensors)
        call = operator.file.guarded("forward", build)
        _check_unchanged(operator, "forward", tensors, before)
        results = operator.file.guarded(name, call)
        _check_unchanged(operator, name, tensors, before)
        for wanted, result in zip(request.wanted, results):
            _check_shape(operator.file.title(name), wanted, result, request.described(wanted).shape)
    except BadModel as error:
        if request.dtype == "float64":
            raise Unsupported("float64 is not available: %s" % error) from error
        raise
    return cast("Callable[[], Any]", call)


def _checksums(arguments: Dict[str, Any]) -> Dict[str, int]:
    """Return the CRC-32 of the bits of each tensor by its name."""
    tensors = {name: each.detach() for name, each in arguments.items() if isinstance(each, torch.Tensor)}
    flat = {name: each.cpu().contiguous().reshape(-1).view(torch.uint8) for name, each in tensors.items()}
    return {name: zlib.crc32(each.numpy().data) for name, each in flat.items()}


def _check_unchanged(operator: OwnOperator, function: str, arguments: Dict[str, Any], before: Dict[str, int]) -> None:
    """Raise BadModel if a function changed a tensor: each of its calls must have the same arguments."""
    after = _checksums(arguments)
    changed = [name for name in before if after[name] != before[name]]
    if changed:
        values = (operator.file.title(function), changed[0], changed[0])
        raise BadModel("operator: %s changes its argument '%s' in place; change a copy: %s.clone()" % values)


def _check_shape(title: str, name: str, result: Any, shape: Sequence[int]) -> None:
    is_tensor = isinstance(result, torch.Tensor)
    if not is_tensor or tuple(result.shape) != tuple(shape):
        found = "shape %s" % (tuple(result.shape),) if is_tensor else "an object of type %s" % type(result).__name__
        values = (title, found, "the output" if name == OUTPUT else "the gradient of '%s'" % name, tuple(shape))
        raise BadModel("operator: %s returned %s for %s, not a tensor of shape %s" % values)
