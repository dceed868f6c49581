"""Train to a target accuracy on the validation split, which shows whether a faster configuration learns worse.

The time is measured from the first step to the end of the evaluation that reaches the target, including evaluations, as
in MLPerf's time-to-train (Mattson et al., 2020, "MLPerf training benchmark", section 3.2).

If the strategy lets the weights of ranks differ, the accuracy is that of their mean, or of the servers' weights.

Ranks that do not share a model start their trainings together. The time of the run is then that until the last model
that reaches the target has reached it. Models that miss the target do not count, as in MLPerf HPC's weak scaling, whose
results may be pruned (MLPerf HPC training rules, "Weak scaling (throughput)"). A rank that fails for another reason
fails the run.
"""

import time
from typing import Any, Dict, List, Optional, Tuple

import numpy

from ....core.samples import Samples, of_whole
from ...errors import Missed
from ...frameworks.adapter import Network
from ...workload.data import Split

# An asynchronous framework queues steps faster than it runs them: without synchronization, its queue would hold the
# batches of a whole epoch. After each step, synchronization would keep it from working ahead.
SYNCHRONIZE_EVERY = 16  # steps


def measure(network: Network) -> Tuple[Dict[str, Any], Samples]:
    """Train with all ranks at the same time; return the results of this rank's model, and the measurement of the run.

    Raise Missed if no model reaches the target.
    """
    all_ranks, missed = network.problem.all_ranks, None
    all_ranks.gather(None)  # all start together
    try:
        learned = learn(network)
    except Missed as error:
        learned, missed = error.learning, error
    reached = [elapsed_s for elapsed_s in all_ranks.gather(learned["elapsed_s"]) if elapsed_s is not None]
    if missed and not reached:
        raise missed
    after_s = max(reached) - learned["curve"][-1]["elapsed_s"]  # from the end of this model to the last that counts
    return learned, of_whole(max(reached), learned["ended_s"] + after_s, learned["first_step_s"])


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
            "seed": parameters["seed"],
            "held_out_items": held_out_items,
            "started_unix_s": started_unix_s,
        }

    held_out_items = sum(group.gather(split.counted))
    network.synchronize()
    started_unix_s, start = time.time(), time.monotonic()
    _train(network, 1)
    first_step_s = time.monotonic() - start
    for epoch in range(1, parameters["max_epochs"] + 1):
        _train(network, steps - 1 if epoch == 1 else steps)
        trained = time.monotonic() - start
        with network.common_weights():
            accuracy = sum(group.gather(_correct(network, split))) / held_out_items
        elapsed, trained = group.agree([time.monotonic() - start, trained])
        curve.append({"epoch": epoch, "elapsed_s": elapsed, "accuracy": accuracy, "trained_s": trained})
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
