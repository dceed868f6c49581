"""Record the trajectory of a second training: equal initial weights and batches in all frameworks.

It follows the measurement, which it does not change. The batches of real data have an order that depends on the seed
alone. Dropout of shipped models is off, because its random numbers differ between frameworks. An error, or
the end of the process, loses the trajectory, not the measurement (later_parts.py).
"""

import hashlib
import io
import math
import time
import traceback
from dataclasses import replace
from itertools import islice
from typing import Any, Iterator, List, Optional

import numpy

from ...core.files import write_whole
from ...core.run_spec import PlannedRun
from ...core.training.trajectory import MOST_STORED, OF_LAYERS, RUNS, TASKS, Trajectory, recorded_steps, refusal
from ...models.initial_weights import Numbers
from ...models.network_reference import without_dropout
from ..errors import Unsupported
from ..frameworks.adapter import Adapter, Batch, Network
from ..workload.problem import Problem
from .validation.numbered import NotFoundError, in_order, places_in_network

_ORDER = (0, 2)  # the stream of the order of items, unlike the streams of weights, splits and synthetic input
_SAMPLE = (0, 3)  # the stream of the sample of weights


def record(adapter: Adapter, network: Network, planned: PlannedRun, path: str) -> Optional[Trajectory]:
    """Return the trajectory of a run whose network has been measured, with the weights in the file `path`.

    Return None if this run or rank has none to record.
    """
    if planned.parameters["task"] not in TASKS or planned.run > RUNS or network.problem.all_ranks.rank:
        return None
    start = time.monotonic()
    try:
        _check(network.problem)
        found = _trained(adapter, network.problem, planned.measure["trajectory"]["steps"], path)
    except (Unsupported, NotFoundError) as error:
        return Trajectory(reason=str(error))
    except Exception as error:
        traceback.print_exc()
        if adapter.is_out_of_memory(error):
            return Trajectory(reason="memory ran out")
        lines = str(error).strip().splitlines() or [""]
        return Trajectory(reason="the second training failed (%s: %s)" % (type(error).__name__, lines[0]))
    return replace(found, duration_s=time.monotonic() - start)


def _check(problem: Problem) -> None:
    """Raise Unsupported if the case cannot train twice, or has no batches that are equal in all frameworks."""
    reason = refusal(problem.parameters["strategy"], problem.parameters["threads"])
    if reason:
        raise Unsupported(reason)
    if problem.split and problem.split.training.are_files:
        raise Unsupported("frameworks decode image files differently; use an npz file")


def _trained(adapter: Adapter, problem: Problem, steps: int, path: str) -> Trajectory:
    """Train a new network, write its weights to `path`, and return the trajectory."""
    problem = replace(problem, layers=without_dropout(problem.layers)) if problem.layers else problem
    places = places_in_network(adapter, problem) if problem.layers else None
    network: Any = adapter.build(problem)
    sample = _sample(int(network.parameter_count))
    batches, at = _batches(network), recorded_steps(steps)
    losses: List[Optional[float]] = []
    rows = [_weights(network, places)[sample]]
    for step in range(1, steps + 1):
        loss = float(network.to_numpy(network.learn(list(islice(batches, problem.batches_per_step)))).mean())
        losses.append(loss if math.isfinite(loss) else None)
        if step in at:
            network.synchronize()
            rows.append(_weights(network, places)[sample])
    file = io.BytesIO()
    numpy.save(file, numpy.array(rows, numpy.float32), allow_pickle=False)
    write_whole(path, file.getvalue())
    return Trajectory(
        losses=losses,
        steps=at,
        weights=int(network.parameter_count),
        stored=len(sample),
        order=OF_LAYERS if problem.layers else adapter.name,
        sha256=hashlib.sha256(file.getvalue()).hexdigest(),
    )


def _weights(network: Network, places: "Optional[List[numpy.ndarray]]") -> "numpy.ndarray":
    """Return all weights as one array, in the order of layers, or of the framework without `places`."""
    arrays = [numpy.asarray(each) for each in network.weights()]
    if places is not None:
        return in_order(arrays, places).astype(numpy.float32)
    return numpy.concatenate([each.astype(numpy.float32).ravel() for each in arrays])


def _sample(count: int) -> "numpy.ndarray":
    """Return the places of the stored weights: all, or a random one in each of MOST_STORED equal parts."""
    if count <= MOST_STORED:
        return numpy.arange(count)
    ends = numpy.arange(MOST_STORED + 1) * count // MOST_STORED
    sizes, below = numpy.diff(ends), 2**31 - 1
    return ends[:-1] + Numbers(*_SAMPLE).integers((MOST_STORED,), below).astype(numpy.int64) * sizes // below


def _batches(network: Network) -> Iterator[Batch]:
    """Yield the batches of one training, which depend on the seed alone."""
    problem = network.problem
    seed, split = problem.parameters["seed"], problem.split
    epoch = 0
    while split:
        keys = Numbers(seed, *_ORDER, epoch).integers((len(split.training.labels),), 2**31 - 1)
        order = numpy.argsort(keys, kind="stable")
        size = problem.parameters["batch_size"]
        yield from network.pipeline(split.training.chosen(order[: len(order) // size * size]), forever=False)
        epoch += 1
    while True:
        parameters = {**problem.parameters, "seed": seed + epoch}
        yield network.on_device(*network.synthetic_batch(replace(problem, parameters=parameters)))
        epoch += 1
