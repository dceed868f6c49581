"""Train to a target accuracy on the validation split, which shows whether a faster configuration learns worse.

The time is measured from the first step to the end of the evaluation that reaches the target, including evaluations, as
in MLPerf's time-to-train (Mattson et al., 2020, "MLPerf training benchmark", section 3.2).
"""

import time
from typing import Any, Dict, List, Optional

import numpy

from ...errors import Missed
from ...frameworks.adapter import Network
from ...workload.data import Split

# An asynchronous framework queues steps faster than it runs them: without synchronization, its queue would hold the
# batches of a whole epoch. After each step, synchronization would keep it from working ahead.
SYNCHRONIZE_EVERY = 16  # steps


def learn(network: Network) -> Dict[str, Any]:
    """Train epoch after epoch until the target accuracy; return the results with `elapsed_s` and the `curve` of
    accuracies.

    `elapsed_s` includes `first_step_s`, in which the framework compiles and fills the input pipeline. Raise Missed if
    the accuracy is below the target after the last epoch.
    """
    problem = network.problem
    parameters, group = problem.parameters, problem.group
    split = problem.split
    assert split  # noqa: S101 - this task has data
    steps = problem.steps_per_epoch
    curve: List[Dict[str, float]] = []

    def summary(seconds: Optional[float]) -> Dict[str, Any]:
        accuracy = curve[-1]["accuracy"]
        return {
            "elapsed_s": seconds,
            "ended_s": time.monotonic(),
            "first_step_s": first_step_s,
            "epochs": len(curve),
            "accuracy": accuracy,
            "curve": curve,
        }

    network.synchronize()
    start = time.monotonic()
    _train(network, 1)
    first_step_s = time.monotonic() - start
    for epoch in range(1, parameters["max_epochs"] + 1):
        _train(network, steps - 1 if epoch == 1 else steps)
        correct = sum(group.gather(_correct(network, split)))
        accuracy = correct / sum(group.gather(split.counted))
        elapsed = group.agree(time.monotonic() - start)
        curve.append({"epoch": epoch, "elapsed_s": elapsed, "accuracy": accuracy})
        if accuracy >= parameters["target_accuracy"]:
            return summary(elapsed)
    best = max(point["accuracy"] for point in curve)
    missed = (best, len(curve), parameters["target_accuracy"])
    raise Missed("the best accuracy was %.4f after %d epochs, and the target is %g" % missed, summary(None))


def _train(network: Network, steps: int) -> None:
    for step in range(1, steps + 1):
        network.train()
        if step % SYNCHRONIZE_EVERY == 0:
            network.synchronize()
    network.synchronize()


def _correct(network: Network, split: Split) -> float:
    """Return how many of this rank's held-out inputs are classified correctly.

    An input with several labels counts as the fraction that is correct.
    """
    batches = network.pipeline(split.held_out, forever=False)
    found = numpy.concatenate([network.to_numpy(network.predict(inputs)).argmax(-1) for inputs, _ in batches])
    network.synchronize()
    correct = (found == split.held_out.labels).reshape(len(found), -1).mean(1)
    return float(correct[: split.counted].sum())
