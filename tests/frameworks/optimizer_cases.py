"""Optimizers with options, a fixed sequence of gradients, and what they make of weights in float64 (NumPy).

The reference is written from the formulas of the papers, one weight tensor at a time, and shares no code with hpcbench.
"""

import functools
import math

import numpy

STEPS = 100
OPTIMIZERS = ("sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "rmsprop", "lamb")
_WITH_EPS = ("adam", "adamw", "adagrad", "rmsprop", "lamb")
_COSINE = {"schedule": "cosine", "peak": 0.05, "warmup_steps": 7, "total_steps": 80, "final": 0.001}
_MILESTONES = {"schedule": "steps", "peak": 0.05, "warmup_steps": 3, "milestones": [[20, 0.02], [60, 0.005]]}
_WARMUP = {"schedule": "constant", "peak": 0.05, "warmup_steps": 50}


def cases():
    """Return the options of each case by its name. A large eps shows where it is added."""
    found = {}
    for name in OPTIMIZERS:
        eps = {"eps": 0.003} if name in _WITH_EPS else {}
        found[name + "-constant"] = {"name": name, "learning_rate": 0.05, "weight_decay": 0.0, **eps}
        found[name + "-cosine"] = {"name": name, "learning_rate": _COSINE, "weight_decay": 0.02, "clip_norm": 2.0}
        found[name + "-steps"] = {"name": name, "learning_rate": _MILESTONES, "weight_decay": 0.1, "clip_value": 0.5}
        found[name + "-warmup"] = {"name": name, "learning_rate": _WARMUP, **eps}
    found["adam-betas"] = {"name": "adam", "learning_rate": 0.05, "betas": [0.5, 0.7], "eps": 0.003}
    ended = {"schedule": "cosine", "peak": 0.05, "warmup_steps": 0, "total_steps": 50, "final": 0.0}
    found["momentum-ended"] = {"name": "momentum", "learning_rate": ended}
    found["nesterov-plain"] = {"name": "nesterov", "learning_rate": 0.05, "momentum": 0.0}
    found["momentum-heavy"] = {"name": "momentum", "learning_rate": _COSINE, "momentum": 0.99}
    found["rmsprop-alpha"] = {"name": "rmsprop", "learning_rate": 0.05, "alpha": 0.5, "eps": 0.003}
    return found


def start():
    """Return the initial weights: a matrix, a vector, and zeros, for which the trust ratio of LAMB is 1."""
    numbers = numpy.random.RandomState(5)
    weights = [0.1 * numbers.standard_normal((7, 5)), 0.1 * numbers.standard_normal(5), numpy.zeros(3)]
    return [weight.astype(numpy.float32) for weight in weights]


@functools.cache
def gradients():
    """Return the gradients of each step; some are 0, and their sizes differ by four orders of magnitude."""
    numbers = numpy.random.RandomState(6)
    sequence = []
    for step in range(STEPS):
        scale = 10.0 ** numbers.uniform(-3, 1)
        sequence.append([scale * numbers.standard_normal(weight.shape) for weight in start()])
        sequence[-1][1][step % 5] = 0.0
    return [[each.astype(numpy.float32) for each in step] for step in sequence]


def reference(options):
    """Return the weights in float64 after 1 and after all steps."""
    weights = [weight.astype(numpy.float64) for weight in start()]
    states = [{} for _ in weights]
    first = None
    for step, found in enumerate(gradients()):
        found = _clipped([each.astype(numpy.float64) for each in found], options)
        rate = _rate(options["learning_rate"], step)
        pairs = zip(weights, found, states, strict=True)
        weights = [_updated(options, weight, gradient, state, rate, step + 1) for weight, gradient, state in pairs]
        first = first or weights
    return first, weights


def _clipped(found, options):
    if "clip_norm" in options:
        norm = math.sqrt(sum(float((each**2).sum()) for each in found))
        return [each * min(1.0, options["clip_norm"] / (norm + 1e-6)) for each in found]
    limit = options.get("clip_value", math.inf)
    return [numpy.clip(each, -limit, limit) for each in found]


def _rate(given, step):
    if not isinstance(given, dict):
        return given
    if step < given["warmup_steps"]:
        return given["peak"] * (step + 1) / given["warmup_steps"]
    if given["schedule"] == "steps":
        return ([given["peak"]] + [rate for start, rate in given["milestones"] if step >= start])[-1]
    if given["schedule"] == "constant":
        return given["peak"]
    passed = min(1.0, (step - given["warmup_steps"]) / (given["total_steps"] - given["warmup_steps"]))
    return given["final"] + (given["peak"] - given["final"]) * (1 + math.cos(math.pi * passed)) / 2


def _updated(options, weight, gradient, state, rate, count):
    name = options["name"]
    decay = options.get("weight_decay", {"adamw": 0.01, "lamb": 0.01}.get(name, 0.0))
    eps = options.get("eps", {"adagrad": 1e-10, "lamb": 1e-6}.get(name, 1e-8))
    if name not in ("adamw", "lamb"):
        gradient = gradient + decay * weight
    if name == "sgd":
        return weight - rate * gradient
    if name in ("momentum", "nesterov"):
        momentum = options.get("momentum", 0.9)
        state["b"] = momentum * state.get("b", 0.0) + gradient
        return weight - rate * (gradient + momentum * state["b"] if name == "nesterov" else state["b"])
    if name == "adagrad":
        state["s"] = state.get("s", 0.0) + gradient**2
        return weight - rate * gradient / (numpy.sqrt(state["s"]) + eps)
    if name == "rmsprop":
        alpha = options.get("alpha", 0.99)
        state["s"] = alpha * state.get("s", 0.0) + (1 - alpha) * gradient**2
        return weight - rate * gradient / (numpy.sqrt(state["s"]) + eps)
    first, second = options.get("betas", (0.9, 0.999))
    state["m"] = first * state.get("m", 0.0) + (1 - first) * gradient
    state["v"] = second * state.get("v", 0.0) + (1 - second) * gradient**2
    update = state["m"] / (1 - first**count) / (numpy.sqrt(state["v"] / (1 - second**count)) + eps)
    if name == "adam":
        return weight - rate * update
    if name == "adamw":
        return weight - rate * decay * weight - rate * update
    update = update + decay * weight
    own, change = numpy.linalg.norm(weight), numpy.linalg.norm(update)
    return weight - rate * (own / change if own > 0 and change > 0 else 1.0) * update
