"""The optimizers and their options, with the same meaning in all frameworks.

With weights w, gradient g, learning rate r, and all operations element by element except norms:

- sgd: w -= r g
- momentum: b = momentum b + g; w -= r b
- nesterov: b = momentum b + g; w -= r (g + momentum b)
- adam: m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= r m' / (sqrt(v') + eps), where m' = m / (1 - b1^t) and
  v' = v / (1 - b2^t) after t steps (Kingma and Ba, 2015, algorithm 1)
- adamw: w -= r weight_decay w, then adam (Loshchilov and Hutter, 2019)
- adagrad: s = s + g^2; w -= r g / (sqrt(s) + eps), where s starts at 0 (Duchi et al., 2011)
- rmsprop: s = alpha s + (1 - alpha) g^2; w -= r g / (sqrt(s) + eps)
- lamb: u = m' / (sqrt(v') + eps) + weight_decay w; w -= r u |w| / |u|, with the norms of each weight tensor, and a
  ratio of 1 if one of them is 0 (You et al., 2020, algorithm 2)

Except in adamw and lamb, weight decay is an L2 penalty: g = g + weight_decay w. Gradients are averaged over the
accumulated batches and the ranks, then clipped. These are PyTorch's definitions, except lamb, which PyTorch lacks.
"""

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from . import schedules
from .schedules import Schedule, schedule_of, simplest

SGD, MOMENTUM, NESTEROV, ADAM, ADAMW, ADAGRAD, RMSPROP, LAMB = (
    *("sgd", "momentum", "nesterov", "adam", "adamw"),
    *("adagrad", "rmsprop", "lamb"),
)
DEFAULT = MOMENTUM
COMMON: Dict[str, Any] = {"clip_norm": None, "clip_value": None, "gradient_accumulation_steps": 1}
_BETAS = (0.9, 0.999)
OPTIMIZERS: Dict[str, Dict[str, Any]] = {
    SGD: {"learning_rate": 0.01, "weight_decay": 0.0},
    MOMENTUM: {"learning_rate": 0.01, "momentum": 0.9, "weight_decay": 0.0},
    NESTEROV: {"learning_rate": 0.01, "momentum": 0.9, "weight_decay": 0.0},
    ADAM: {"learning_rate": 0.001, "betas": [*_BETAS], "eps": 1e-8, "weight_decay": 0.0},
    ADAMW: {"learning_rate": 0.001, "betas": [*_BETAS], "eps": 1e-8, "weight_decay": 0.01},
    ADAGRAD: {"learning_rate": 0.01, "eps": 1e-10, "weight_decay": 0.0},
    RMSPROP: {"learning_rate": 0.01, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0},
    LAMB: {"learning_rate": 0.001, "betas": [*_BETAS], "eps": 1e-6, "weight_decay": 0.01},
}
"""The options of each optimizer with their defaults, which are PyTorch's if PyTorch has the optimizer."""
STATE_TENSORS = {
    **dict.fromkeys((SGD,), 0),
    **dict.fromkeys((MOMENTUM, NESTEROV, ADAGRAD, RMSPROP), 1),
    **dict.fromkeys((ADAM, ADAMW, LAMB), 2),
}
"""The tensors of each optimizer's state with the shape of a weight tensor."""
OWN_COLUMNS = ("learning_rate", "gradient_accumulation_steps")  # options with columns of their own in tables
NORM_EPS = 1e-6  # added to the norm of gradients before the division, as torch.nn.utils.clip_grad_norm_ does


class Optimizer(NamedTuple):
    """An optimizer with all its options. Options that it lacks have neutral values."""

    name: str
    learning_rate: Schedule
    momentum: float = 0.0
    betas: Tuple[float, float] = _BETAS
    alpha: float = 0.0
    eps: float = 0.0
    weight_decay: float = 0.0
    clip_norm: Optional[float] = None
    clip_value: Optional[float] = None
    gradient_accumulation_steps: int = 1

    @property
    def l2_penalty(self) -> float:
        """Return the factor of the weights that is added to the gradients."""
        return 0.0 if self.name in (ADAMW, LAMB) else self.weight_decay

    @property
    def is_adaptive(self) -> bool:
        """Return whether the optimizer divides by a running root mean square of the gradients."""
        return self.name not in (SGD, MOMENTUM, NESTEROV)


def defaults_of(name: str) -> Dict[str, Any]:
    """Return all options of an optimizer with their defaults."""
    return {**OPTIMIZERS[name], **COMMON}


def completed(given: Any) -> Any:
    """Return the parameter `optimizer` with the defaults of unset options; `adam` is `{"name": "adam"}`.

    Any other value is returned unchanged.
    """
    options = {"name": given} if isinstance(given, str) else given
    if not isinstance(options, Mapping) or str(options.get("name", DEFAULT)) not in OPTIMIZERS:
        return options
    name = options.get("name", DEFAULT)
    return {"name": name, **defaults_of(name), **{key: value for key, value in options.items() if value is not None}}


def differing(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the name of an optimizer and the options that differ from its defaults."""
    usual = defaults_of(given["name"])
    options = {**given, "learning_rate": simplest(given["learning_rate"])}
    return {name: value for name, value in options.items() if name == "name" or value != usual.get(name)}


def in_short(given: Mapping[str, Any], *left_out: str) -> str:
    """Return `adam` for an optimizer with default options, otherwise text such as `adam(betas=[0.9,0.95],eps=0.001)`.

    Options in `left_out` are not included.
    """
    options = {name: value for name, value in differing(given).items() if name not in ("name", *left_out)}
    if "learning_rate" in options:
        options["learning_rate"] = schedules.in_short(options["learning_rate"])
    texts = ["%s=%s" % (name, json.dumps(v, separators=(",", ":")).strip('"')) for name, v in options.items()]
    return "%s(%s)" % (given["name"], ",".join(texts)) if texts else str(given["name"])


def name_in(short: str) -> str:
    """Return the name of the optimizer in a text of `in_short`."""
    return short.partition("(")[0]


def optimizer_of(given: Mapping[str, Any]) -> Optimizer:
    """Return the optimizer of the parameter `optimizer`; options that it leaves out have their defaults."""
    options = completed(given)
    rate = schedule_of(options.pop("learning_rate"))
    first, second = options.pop("betas", _BETAS)
    return Optimizer(learning_rate=rate, betas=(first, second), **options)
