"""The optimizers of a case in PyTorch: torch.optim's, and LAMB, which it lacks."""

from typing import Any, Callable, Dict, Iterable, Optional

import numpy
import torch
from torch import nn

from ....models import optimizers
from ....models.optimizers import Optimizer


class Lamb(torch.optim.Optimizer):
    """LAMB (You et al., 2020, algorithm 2), with the trust ratio of each weight tensor."""

    # Horovod creates a copy with the parameters alone, whose groups have the options.
    def __init__(
        self, params: Any, lr: float = 0.001, betas: Any = (0.9, 0.999), eps: float = 1e-6, weight_decay: float = 0.01
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step with the gradients of the weights. `closure` is not used."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, weight.grad, self.state[weight], group)

    def _update(self, weight: torch.Tensor, gradient: torch.Tensor, state: Dict[str, Any], group: Any) -> None:
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(weight), exp_avg_sq=torch.zeros_like(weight))
        state["step"] += 1
        first, second = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(gradient, 1 - first)
        square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        root = (square / (1 - second ** state["step"])).sqrt_().add_(group["eps"])
        update = (mean / (1 - first ** state["step"])).div_(root).add_(weight, alpha=group["weight_decay"])
        # In float32 on CPUs, PyTorch's sums of a million squares have relative errors of 2e-4.
        own, change = (torch.linalg.vector_norm(each, dtype=torch.float64) for each in (weight, update))
        ratio = torch.where((own > 0) & (change > 0), own / change, torch.ones_like(own))
        weight.sub_(update.mul_(ratio), alpha=group["lr"])


def optimizer_of(model: nn.Module, options: Optimizer) -> torch.optim.Optimizer:
    """Return the optimizer for the trainable weights of a model."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return _OPTIMIZERS[options.name](trained, options)


def schedule_of(optimizer: torch.optim.Optimizer, options: Optimizer) -> Optional[torch.optim.lr_scheduler.LRScheduler]:
    """Return the scheduler of the learning rate; None for a constant rate."""
    rate = options.learning_rate
    if rate.is_constant:
        return None
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: float(rate.rate(step, numpy)) / rate.peak)


def clip(weights: Iterable[torch.Tensor], options: Optimizer) -> None:
    """Clip the gradients of the weights in place, if the optimizer clips."""
    if options.clip_norm is not None:
        nn.utils.clip_grad_norm_(weights, options.clip_norm)
    if options.clip_value is not None:
        nn.utils.clip_grad_value_(weights, options.clip_value)


def _sgd(weights: Any, options: Optimizer) -> torch.optim.Optimizer:
    rate = options.learning_rate.peak
    nesterov = options.name == optimizers.NESTEROV and options.momentum > 0
    return torch.optim.SGD(
        weights, rate, options.momentum, weight_decay=options.weight_decay, dampening=0.0, nesterov=nesterov
    )


def _with_moments(optimizer: Any) -> Callable[[Any, Optimizer], torch.optim.Optimizer]:
    return lambda weights, options: optimizer(
        weights,
        lr=options.learning_rate.peak,
        betas=options.betas,
        eps=options.eps,
        weight_decay=options.weight_decay,
    )


def _adagrad(weights: Any, options: Optimizer) -> torch.optim.Optimizer:
    return torch.optim.Adagrad(
        weights,
        options.learning_rate.peak,
        lr_decay=0.0,
        weight_decay=options.weight_decay,
        initial_accumulator_value=0.0,
        eps=options.eps,
    )


def _rmsprop(weights: Any, options: Optimizer) -> torch.optim.Optimizer:
    return torch.optim.RMSprop(
        weights,
        options.learning_rate.peak,
        alpha=options.alpha,
        eps=options.eps,
        weight_decay=options.weight_decay,
        momentum=0.0,
        centered=False,
    )


_OPTIMIZERS: Dict[str, Callable[[Any, Optimizer], torch.optim.Optimizer]] = {
    optimizers.SGD: _sgd,
    optimizers.MOMENTUM: _sgd,
    optimizers.NESTEROV: _sgd,
    optimizers.ADAM: _with_moments(torch.optim.Adam),
    optimizers.ADAMW: _with_moments(torch.optim.AdamW),
    optimizers.ADAGRAD: _adagrad,
    optimizers.RMSPROP: _rmsprop,
    optimizers.LAMB: _with_moments(Lamb),
}
