"""Train to a target accuracy on the validation split, which shows whether a faster configuration learns worse.

The time is measured from the first step to the end of the evaluation that reaches the target, including evaluations, as
in MLPerf's time-to-train (Mattson et al., 2020, "MLPerf training benchmark", section 3.2).

If the strategy lets the weights of ranks differ, the accuracy is that of their mean, or of the servers' weights.

Ranks that do not share a model start their trainings together. The time of the run is then that until the last model
that reaches the target has reached it. Models that miss the target do not count, as in MLPerf HPC's weak scaling, whose
results may be pruned (MLPerf HPC training rules, "Weak scaling (throughput)"). A rank that fails for another reason
fails the run.

The training loss of an epoch is the mean of the losses of its steps, before each update. The training accuracy is that
of a sample of the training items, evaluated like the validation split. This evaluation is not part of the measured
time, but it is inside the window of the run, and so in its energy.
"""

import time
from typing import Any, Dict, List, Optional, Tuple

import numpy

from ....core.samples import Samples, of_whole
from ...errors import Missed
from ...frameworks.adapter import Network
from ...workload.data import Items, Split

# An asynchronous framework queues steps faster than it runs them: without synchronization, its queue would hold the
# batches of a whole epoch. After each step, synchronization would keep it from working ahead.
SYNCHRONIZE_EVERY = 16  # steps
# The training items that are evaluated after each epoch: a tenth of the held-out items, but not fewer than this.
FEWEST_SAMPLED = 256


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
    start_s = learned.pop("start_s")
    reached = [elapsed_s for elapsed_s in all_ranks.gather(learned["elapsed_s"]) if elapsed_s is not None]
    if missed and not reached:
        raise missed
    after_s = max(reached) - learned["curve"][-1]["elapsed_s"]  # from the end of this model to the last that counts
    return learned, of_whole(max(reached), start_s, learned["ended_s"] + after_s, learned["first_step_s"])


def learn(network: Network) -> Dict[str, Any]:
    """Train epoch after epoch until the target accuracy; return the results with `elapsed_s` and the `curve` of
    accuracies.

    `start_s` and `ended_s` are on the clock of windows. `elapsed_s` is the time between them, without the evaluation of
    the training sample in earlier epochs. It includes `first_step_s`, in which the framework compiles and fills the
    input pipeline. Raise Missed if the accuracy is below the target after the last epoch.
    """
    problem = network.problem
    parameters, group = problem.parameters, problem.group
    split = problem.split
    assert split  # noqa: S101 - this task has data
    steps, sample = problem.steps_per_epoch, _sample(split, parameters["batch_size"])
    curve: List[Dict[str, float]] = []

    def summary(seconds: Optional[float]) -> Dict[str, Any]:
        accuracy = curve[-1]["accuracy"]
        return {
            "elapsed_s": seconds,
            "start_s": start,
            "ended_s": ended_s,
            "first_step_s": first_step_s,
            "epochs": len(curve),
            "accuracy": accuracy,
            "curve": curve,
            "seed": parameters["seed"],
            "held_out_items": held_out_items,
            "sampled_items": sampled_items,
            "started_unix_s": started_unix_s,
        }

    held_out_items, sampled_items = (sum(group.gather(count)) for count in (split.counted, len(sample.labels)))
    network.synchronize()
    started_unix_s, start, untimed_s = time.time(), time.monotonic(), 0.0
    losses = _train(network, 1)
    first_step_s = time.monotonic() - start
    for epoch in range(1, parameters["max_epochs"] + 1):
        losses += _train(network, steps - len(losses))
        trained = time.monotonic() - start - untimed_s
        with network.common_weights():
            found = (float(numpy.mean(losses)), _correct(network, split.held_out, split.counted))
            loss, held_out = numpy.array(group.gather(found)).sum(0).tolist()
            accuracy = held_out / held_out_items
            ended_s = time.monotonic()
            elapsed, trained = group.agree([ended_s - start - untimed_s, trained])
            sampled = sum(group.gather(_correct(network, sample))) / sampled_items
        untimed_s += time.monotonic() - ended_s
        point = {"epoch": epoch, "elapsed_s": elapsed, "accuracy": accuracy, "trained_s": trained}
        curve.append({**point, "loss": loss / group.size, "training_accuracy": sampled})
        losses = []
        if accuracy >= parameters["target_accuracy"]:
            return summary(elapsed)
    best = max(point["accuracy"] for point in curve)
    missed = (best, len(curve), "" if len(curve) == 1 else "s", parameters["target_accuracy"])
    raise Missed("the best accuracy was %.4f after %d epoch%s, and the target is %g" % missed, summary(None))


def _sample(split: Split, batch_size: int) -> Items:
    """Return training items of this rank in whole batches, at least one; their order is random already."""
    wanted = max(FEWEST_SAMPLED, len(split.held_out.labels) // 10)
    batches = max(1, min(wanted, len(split.training.labels)) // batch_size)
    return split.training.chosen(numpy.arange(batches * batch_size))


def _train(network: Network, steps: int) -> List[float]:
    """Return the losses of some steps on this rank. They are read whenever the device has finished all of them."""
    losses: List[float] = []
    queued = []
    for step in range(1, steps + 1):
        queued.append(network.train())
        if step % SYNCHRONIZE_EVERY == 0 or step == steps:
            network.synchronize()
            losses += [float(network.to_numpy(loss).mean()) for loss in queued]
            queued = []
    return losses


def _correct(network: Network, items: Items, counted: Optional[int] = None) -> float:
    """Return how many of this rank's items, or of the first `counted`, are classified correctly.

    An item with several labels counts as the fraction that is correct.
    """
    batches = network.pipeline(items, forever=False)
    found = numpy.concatenate([network.to_numpy(network.predict(inputs)).argmax(-1) for inputs, _ in batches])
    network.synchronize()
    correct = (found == items.labels).reshape(len(found), -1).mean(1)
    return float(correct[:counted].sum())
