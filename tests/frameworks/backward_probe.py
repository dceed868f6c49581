"""Run in a framework's own environment: the gradients of the task backward, and those of a training step.

A question to answering.py: backward_probe FRAMEWORK EXECUTION [STRATEGY]
"""

import numpy
from probing import adapter_of, case, own_group

MODELS = ("mlp", "lstm", "resnet50")
COMPILED = ("mlp",)  # to compile one of the others takes a minute
PLAIN = {"name": "sgd", "learning_rate": 1.0}  # the weights change by the gradients


def distance(found, expected):
    """The largest difference, relative to the largest value."""
    return float(max(abs(a - b).max() for a, b in zip(found, expected, strict=True)) / largest(expected))


def largest(arrays):
    return max(abs(each).max() for each in arrays)


def weights(network):
    network.synchronize()
    return [numpy.array(each) for each in network.weights()]


def compared(adapter, group, model, **changes):
    """Take two backward steps, and a training step of each rank alone on the same batches."""
    network = adapter.build(case(model, group, task="backward", **changes))
    before = weights(network)
    losses, found = [], []
    for _ in range(2):
        losses.append(network.to_numpy(network.backward()).item())
        network.synchronize()
        found.append([numpy.array(each) for each in network.gradients()])
    kept = distance(weights(network), before)
    training = adapter.build(case(model, group, **{**changes, "strategy": "single"}))
    first = weights(training)
    loss = training.to_numpy(training.train()).item()
    moved = [a - b for a, b in zip(first, weights(training), strict=True)]
    if group.size > 1:  # as text, which takes long for 25 million weights
        ranks = group.gather([each.tolist() for each in moved])
        moved = [numpy.mean([numpy.array(each) for each in of_ranks], 0) for of_ranks in zip(*ranks, strict=True)]
    group.gather(None)
    network.close()
    return {
        "gradients": distance(found[0], moved),
        "zeros": sum(not each.any() for each in found[0]),
        "again": distance(found[1], found[0]),
        "weights": kept,
        "losses": [losses[0] - loss, losses[1] - loss],
    }


def main(framework, execution, strategy="single"):
    adapter, group = adapter_of(framework), own_group()
    asked = {"execution": execution, "strategy": strategy, "optimizer": PLAIN}
    models = MODELS if strategy == "single" and execution != "compiled" else COMPILED
    answers = {model: compared(adapter, group, model, **asked) for model in models}
    if strategy == "single":
        asked["optimizer"] = {**PLAIN, "gradient_accumulation_steps": 3}
        answers["accumulated"] = compared(adapter, group, "mlp", **asked)
    return answers
