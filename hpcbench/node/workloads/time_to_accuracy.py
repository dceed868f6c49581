"""Training until a held-out part of the data is classified well enough: a speed that hurts learning shows here.

The time counts from the first step to the evaluation that reached the target, evaluations included, as in MLPerf's
time-to-train (Mattson et al., 2020, "MLPerf training benchmark", section 3.2).
"""

import time
from typing import Any, Dict

import numpy

from ..data import Split
from ..frameworks.base import Network
from ..outcomes import Missed


def learn(network: Network) -> Dict[str, Any]:
    """Train epoch after epoch: `seconds` to the target, and the `curve` of accuracies. Raises Missed after the last."""
    problem = network.problem
    parameters, group = problem.parameters, problem.group
    split = problem.split
    assert split  # noqa: S101 - this task has data
    steps = len(split.training.labels) // parameters["batch_size"]
    network.synchronize()
    start = time.perf_counter()
    curve = []
    for epoch in range(1, parameters["max_epochs"] + 1):
        for _ in range(steps):
            network.train()
        network.synchronize()
        correct = sum(group.gather(_correct(network, split)))
        accuracy = correct / sum(group.gather(split.counted))
        elapsed = group.agree(time.perf_counter() - start)
        curve.append({"epoch": epoch, "elapsed_s": elapsed, "accuracy": accuracy})
        if accuracy >= parameters["target_accuracy"]:
            return {"seconds": elapsed, "epochs": epoch, "accuracy": accuracy, "curve": curve}
    best = max(point["accuracy"] for point in curve)
    raise Missed(
        "the best accuracy was %.4f after %d epochs, and the target is %g"
        % (best, len(curve), parameters["target_accuracy"]),
        {"seconds": None, "epochs": len(curve), "accuracy": curve[-1]["accuracy"], "curve": curve},
    )


def _correct(network: Network, split: Split) -> int:
    """How many of this rank's held-out items get their label."""
    batches = network.pipeline(split.held_out, forever=False)
    found = numpy.concatenate([network.to_numpy(network.predict(inputs)).argmax(1) for inputs, _ in batches])
    return int((found == split.held_out.labels)[: split.counted].sum())
