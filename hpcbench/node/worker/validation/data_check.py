"""Check that the input pipelines of all ranks deliver each training item exactly once per epoch.

An item is identified by the CRC-32 of its input and label, as the framework's pipeline delivers them. The numbers of
equal items are compared, so that the data may have duplicates. The reference is the training split as a pipeline
delivers it in order, of which each rank reads a consecutive block. Known exceptions are the items that are left over
after equal shares for all ranks, and after whole batches of each share.
"""

import time
import zlib
from collections import Counter
from functools import reduce
from itertools import islice
from typing import Any, Iterable, List, NamedTuple, Optional

import numpy

from ....core.validation.result import FAILED, NOT_VALIDATED, PASSED, DataCheck, Validation
from ...frameworks.adapter import Batch, Network
from ...workload import data

EPOCHS = 2  # so that their orders can be compared
FEWEST_ITEMS = 10  # different ones of a rank, whose order is judged: shuffling repeats it once in 3.6 million times
MOST_ITEMS = 200_000  # of the data, which a rank may have to decode: minutes on one core


class _Delivered(NamedTuple):
    """The items of some batches, in their order."""

    identities: List[int]
    labels: List[int]  # empty if an item has several


def check_data(network: Network) -> Validation:
    """Return the check of the training data of a network. All ranks must call this."""
    start = time.monotonic()
    problem, group = network.problem, network.problem.group
    parameters, split = problem.parameters, problem.split
    assert split  # noqa: S101 - checked in the configuration
    items = len(problem.items().labels)
    if items > MOST_ITEMS:
        values = (items, MOST_ITEMS)
        return Validation(NOT_VALIDATED, "too large: the data has %d items; at most %d are checked" % values)
    batch_size = parameters["batch_size"]
    batches = len(split.training.labels) // batch_size
    source = network.pipeline(split.training, forever=True)
    epochs = [_delivered(network, islice(source, batches)) for _ in range(EPOCHS)]
    sizes = (parameters["held_out"], batch_size, group.rank, group.size, problem.split_seed)
    block, counted = data.block(problem.items(), *sizes)
    reference = _delivered(network, network.pipeline(block, forever=False), counted)
    whole = [_Delivered(*each) for each in group.gather(reference)]
    ranks = [[_Delivered(*each) for each in rank] for rank in group.gather(epochs)]
    expected = batches * batch_size * group.size
    check = compared(whole, ranks, expected)
    reason = _reason(check)
    verdict = FAILED if reason else PASSED
    return Validation(verdict, reason, data=check, duration_s=time.monotonic() - start)


def compared(whole: List[_Delivered], ranks: List[List[_Delivered]], expected: int) -> DataCheck:
    """Return the comparison of the training split, in blocks, with the epochs of each rank.

    `expected` is the number of items that an epoch of all ranks delivers.
    """
    split = Counter(each for block in whole for each in block.identities)
    epochs = [Counter(each for rank in ranks for each in rank[epoch].identities) for epoch in range(len(ranks[0]))]
    repeated = [sum((epoch - split).values()) for epoch in epochs]
    found = [sum((epoch & split).values()) for epoch in epochs]
    labels = [label for block in whole for label in block.labels]
    return DataCheck(
        epochs=len(epochs),
        items=expected,
        repeated_items=max(repeated),
        missing_items=max(0, expected - min(found)),
        dropped_items=sum(split.values()) - expected,
        reshuffled=_reshuffled(ranks),
        class_counts=[[_counts(rank[epoch].labels, labels) for rank in ranks] for epoch in range(len(epochs))]
        if labels
        else [],
        split_class_counts=_counts(labels, labels),
    )


def _reshuffled(ranks: List[List[_Delivered]]) -> Optional[bool]:
    """Return whether no rank with enough different items has two epochs in the same order; None if no rank has."""
    judged = [epochs for epochs in ranks if len(set(epochs[0].identities)) >= FEWEST_ITEMS]
    return all(first.identities != second.identities for first, second in judged) if judged else None


def _reason(check: DataCheck) -> Optional[str]:
    """Return why the check failed; None if it passed."""
    if check.repeated_items or check.missing_items:
        counts = (check.repeated_items, check.missing_items, check.items)
        return "the pipelines delivered %d items too often and left out %d of %d items of an epoch" % counts
    return "the pipeline of a rank delivered two epochs in the same order" if check.reshuffled is False else None


def _counts(labels: List[int], known: List[int]) -> List[int]:
    """Return how often each label occurs; those outside the range of `known` are one more label, at the end."""
    beyond, found = max(known, default=-1) + 1, numpy.array(labels, numpy.int64)
    counts = numpy.bincount(numpy.where((found < 0) | (found > beyond), beyond, found), minlength=beyond)
    return [int(count) for count in counts]


def _delivered(network: Network, batches: Iterable[Batch], counted: Optional[int] = None) -> _Delivered:
    """Return the first `counted` items of batches on the device, or all of them."""
    identities: List[int] = []
    labels: List[int] = []
    for inputs, targets in batches:
        found = _on_host(network, targets)
        identities += map(_identity, *_on_host(network, inputs), *found)
        if len(found) == 1 and found[0].ndim == 1:
            labels += found[0].astype(int).tolist()
    return _Delivered(identities[:counted], labels[:counted])


def _identity(*arrays: "numpy.ndarray") -> int:
    """Return the CRC-32 of the arrays of an item."""
    return reduce(lambda crc, array: zlib.crc32(array.tobytes(), crc), arrays, 0)


def _on_host(network: Network, batch: Any) -> List["numpy.ndarray"]:
    """Return an array as a list, or all arrays of a model with named inputs."""
    return [network.to_numpy(each) for each in (batch.values() if isinstance(batch, dict) else (batch,))]
