"""Optimizers with options, and a fixed sequence of gradients."""

import functools

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
