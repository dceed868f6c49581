"""Run an external model once on the CPU, with one item, to count its FLOPs and to see what it computes.

FLOPs are those of matrix products, convolutions and attention that torch.utils.flop_counter counts (1 MAC = 2 FLOPs).
It counts none in the RNNs of the CPU: for these, the formula of layers.py is used.
"""

import hashlib
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parameter import UninitializedParameter
from torch.utils.flop_counter import FlopCounterMode

from ....errors import BadModel
from ....workload.user_code import in_one_line, last_lines
from .outputs import main_output

DIGITS = 16
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class Trace(NamedTuple):
    """What one forward pass of one item shows."""

    flops: int
    output_shape: Tuple[int, ...]  # with a batch of 1
    fingerprint: str
    unused: Tuple[str, ...]  # the parameters without influence on the output


def trace(model: str, inputs: str, module: nn.Module, call: Callable[[], Any], *, with_gradients: bool) -> Trace:
    """Return the trace of `call`, which runs `module` with one item of `inputs` (a description), in evaluation mode.

    With `with_gradients`, find the parameters that get no gradient; this needs memory for all gradients. Raise
    BadModel, with the end of the traceback, if the forward pass fails.
    """
    was_training = module.training
    module.eval()
    steps: List[str] = []
    counter = FlopCounterMode(display=False)
    of_rnns = _Rnns(counter)
    try:
        if any(isinstance(weight, UninitializedParameter) for weight in module.parameters()):
            with torch.no_grad():
                call()  # lazy modules get their shapes
        with _observed(module, steps, of_rnns), _counted_attention(), _gradients(module, with_gradients), counter:
            output = main_output(call())
        unused = _unused(module, output) if with_gradients else ()
    except (MemoryError, BadModel):
        raise
    except Exception as error:
        what = "the forward pass of %s with %s failed: %s" % (model, inputs, in_one_line(error))
        raise BadModel(what, last_lines(error)) from error
    finally:
        module.train(was_training)
    weights = ["%s %s" % (name, tuple(weight.shape)) for name, weight in module.named_parameters()]
    text = "\n".join([inputs, *steps, *weights, str(tuple(output.shape))])
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
    return Trace(counter.get_total_flops() + of_rnns.missed, tuple(output.shape), fingerprint, unused)


def rnn_flops(module: nn.RNNBase, items: int, steps: int) -> int:
    """Return the FLOPs of a forward pass of torch's LSTM, GRU or RNN (1 MAC = 2 FLOPs)."""
    directions = 2 if module.bidirectional else 1
    width = module.proj_size or module.hidden_size
    products = 0
    for layer in range(module.num_layers):
        inputs = module.input_size if layer == 0 else width * directions
        products += _GATES[module.mode] * module.hidden_size * (inputs + width) + module.hidden_size * module.proj_size
    return 2 * items * steps * directions * products


class _Rnns:
    """The FLOPs in RNNs that the counter missed."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter, self.missed = counter, 0
        self._before: Dict[int, int] = {}

    def start(self, module: nn.Module, inputs: Any) -> None:
        self._before[id(module)] = self.counter.get_total_flops()

    def end(self, module: Any, inputs: Tuple[Any, ...], named: Dict[str, Any], outputs: Any) -> None:
        counted = self.counter.get_total_flops() - self._before.pop(id(module))
        first = inputs[0] if inputs else named["input"]
        if isinstance(first, nn.utils.rnn.PackedSequence):
            total = rnn_flops(module, 1, len(first.data))
        elif first.dim() == 2:
            total = rnn_flops(module, 1, first.shape[0])
        else:
            total = rnn_flops(module, first.shape[0], first.shape[1])
        self.missed += total - counted


@contextmanager
def _gradients(module: nn.Module, enabled: bool) -> Iterator[None]:
    """Turn gradients on or off. If they are off, no weight requires one: the counter reads the graph of its inputs."""
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    for weight in trained:
        weight.requires_grad_(enabled)
    try:
        with torch.set_grad_enabled(enabled):
            yield
    finally:
        for weight in trained:
            weight.requires_grad_(True)


@contextmanager
def _counted_attention() -> Iterator[None]:
    """Compute attention by matrix products, because the fused kernels of CPUs are not counted."""
    fastpath = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fastpath)


@contextmanager
def _observed(module: nn.Module, steps: List[str], rnns: _Rnns) -> Iterator[None]:
    """Append a line to `steps` for each module without children that runs: path, type, configuration, output shape."""
    handles = []
    for path, each in module.named_modules():
        if isinstance(each, nn.RNNBase):
            handles.append(each.register_forward_pre_hook(rnns.start))
            handles.append(each.register_forward_hook(rnns.end, with_kwargs=True))
        if not any(True for _ in each.children()):
            handles.append(each.register_forward_hook(_line(path, steps)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _line(path: str, steps: List[str]) -> Callable[..., None]:
    def append(module: nn.Module, inputs: Any, outputs: Any) -> None:
        shape = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        steps.append("%s %s(%s) %s" % (path, type(module).__name__, module.extra_repr(), shape))

    return append


def _unused(module: nn.Module, output: torch.Tensor) -> Tuple[str, ...]:
    if not output.requires_grad:
        raise BadModel("the output of the model does not depend on any of its parameters")
    output.float().sum().backward()
    trained = [(name, weight) for name, weight in module.named_parameters() if weight.requires_grad]
    unused = tuple(name for name, weight in trained if weight.grad is None)
    module.zero_grad(set_to_none=True)
    return unused
