"""The float64 copy of an external model on the CPU, eager and with one thread."""

import copy
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ....errors import Unsupported
from ....workload.user_code import in_one_line
from ...external.exact import LOSS, Arrays, Exact, Slope
from ...operator_call import OUTPUT

_LOW = (torch.float32, torch.float16, torch.bfloat16)
_SPREAD = 0.5  # of weights that are initially constant


class ExactModel(Exact):
    """The copy. `compute` returns the output of a module in inference, and the loss of a batch in training."""

    def __init__(self, module: nn.Module, batch: Tuple[Any, Any], compute: Callable[..., torch.Tensor]) -> None:
        """Copy a module, and a batch on its device. Raise Unsupported if it cannot be copied."""
        module.zero_grad(set_to_none=True)
        try:
            self.module = copy.deepcopy(module).double().cpu()
        except Exception as error:
            raise _unsupported(error) from error
        self.batch = _moved(batch[0]), _moved(batch[1])
        self.compute = compute
        trained = [(name, weight) for name, weight in self.module.named_parameters() if weight.requires_grad]
        self.names = [name for name, _ in trained]
        self.weights = [weight for _, weight in trained]
        self.buffers = [buffer.clone() for buffer in self.module.buffers()]

    def results(self, noise: float = 0.0, seed: int = 0) -> Arrays:
        generator = torch.Generator().manual_seed(seed)

        def changed(array: torch.Tensor) -> torch.Tensor:
            size = noise * array.detach().square().mean().sqrt()
            return size * torch.randn(array.shape, generator=generator, dtype=array.dtype)

        inputs = self.batch[0]
        if noise:
            inputs = _mapped(inputs, lambda each: each + changed(each) if each.is_floating_point() else each)
        with self._shifted([changed(each) for each in self.weights] if noise else []):
            return self._results(inputs, seed)

    def slope(self, seed: int, step: float) -> Slope:
        found = self.results(seed=seed)
        generator = torch.Generator().manual_seed(seed)
        gradients = [torch.from_numpy(found[name]) for name in self.names]
        sizes = [weight.detach().square().mean().sqrt() for weight in self.weights]
        signs = [2.0 * torch.randint(0, 2, each.shape, generator=generator) - 1 for each in self.weights]
        direction = [size * sign for size, sign in zip(sizes, signs)]
        losses = []
        for factor in (step, -step):
            with self._shifted([factor * each for each in direction]), torch.no_grad():
                losses.append(float(self._call(self.batch[0], seed)))
        norm = sum(float((size * each).square().sum()) for size, each in zip(sizes, gradients)) ** 0.5
        product = sum(float((each * along).sum()) for each, along in zip(gradients, direction))
        return Slope((losses[0] - losses[1]) / (2 * step), product, norm)

    def _results(self, inputs: Any, seed: int) -> Arrays:
        if not self.module.training:
            with torch.no_grad():
                return {OUTPUT: self._call(inputs, seed).numpy()}

        def differentiated(loss: torch.Tensor) -> Tuple[torch.Tensor, Any]:
            return loss.detach(), torch.autograd.grad(loss, self.weights, allow_unused=True)

        loss, gradients = self._call(inputs, seed, differentiated)
        arrays: Dict[str, torch.Tensor] = {LOSS: loss}
        for name, weight, gradient in zip(self.names, self.weights, gradients):
            arrays[name] = torch.zeros_like(weight) if gradient is None else gradient
        return {name: each.detach().numpy() for name, each in arrays.items()}

    def _call(self, inputs: Any, seed: int, then: Callable[[torch.Tensor], Any] = lambda result: result) -> Any:
        """Return what `then` makes of the result. Raise Unsupported if the model fails, or computes in fewer bits."""
        threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
        for buffer, initial in zip(self.module.buffers(), self.buffers):
            buffer.data.copy_(initial)
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        try:
            with torch.random.fork_rng(devices=[]), _InFloat64() as mode:
                torch.manual_seed(seed)
                result = then(self.compute(self.module, inputs, self.batch[1]))
        except MemoryError:
            raise
        except Exception as error:
            raise _unsupported(error) from error
        finally:
            torch.set_num_threads(threads)
            torch.set_default_dtype(dtype)
        if mode.low:
            raise Unsupported("the model cannot run in float64: %s returns fewer bits" % mode.low[0])
        return result

    @contextmanager
    def _shifted(self, changes: List[torch.Tensor]) -> Iterator[None]:
        """Add arrays to the weights within the context."""
        before = [weight.detach().clone() for weight in self.weights] if changes else []
        with torch.no_grad():
            for weight, change in zip(self.weights, changes):
                weight.add_(change)
        try:
            yield
        finally:
            with torch.no_grad():
                for weight, initial in zip(self.weights, before):
                    weight.copy_(initial)


class _InFloat64(TorchDispatchMode):
    """Replaces types of fewer bits that a model asks for by float64, and collects operators that return them still."""

    def __init__(self) -> None:
        super().__init__()
        self.low: List[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*map(_double, args), **{name: _double(each) for name, each in (kwargs or {}).items()})
        for each in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(each, torch.Tensor) and each.dtype in _LOW:
                self.low.append(str(func))
        return result


def without_randomness(module: nn.Module) -> None:
    """Set the rates of dropout and of dropped paths to 0, as far as modules have them as attributes."""
    for each in module.modules():
        for name, value in list(vars(each).items()):
            is_rate = "drop" in name or (name == "p" and isinstance(each, nn.modules.dropout._DropoutNd))
            if is_rate and isinstance(value, float):
                setattr(each, name, 0.0)


def vary_constants(module: nn.Module, seed: int) -> None:
    """Add random numbers to weights whose elements are all equal: ones and zeros would hide errors."""
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        if weight.requires_grad and weight.numel() and bool((weight == weight.flatten()[0]).all()):
            numbers = torch.rand(weight.shape, generator=generator)
            weight.data += (_SPREAD * (2 * numbers - 1)).to(weight.device)


def _double(argument: Any) -> Any:
    return torch.float64 if isinstance(argument, torch.dtype) and argument in _LOW else argument


def _moved(batch: Any) -> Any:
    """Return arrays on the CPU, numbers in float64."""
    return _mapped(batch, lambda each: each.detach().cpu().double() if each.is_floating_point() else each.cpu())


def _mapped(batch: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(batch, dict):
        return {name: function(each) for name, each in batch.items()}
    return function(batch)


def _unsupported(error: Exception) -> Unsupported:
    return Unsupported("the model cannot run in float64 (%s)" % in_one_line(error))
