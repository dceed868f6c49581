"""The metrics of a command that has completed, from its output and from its files in `$HPCBENCH_RUN`."""

import os
import re
from typing import Any, Dict, Iterator, List

from ...core import metrics
from ...core.metrics import MetricError
from ..launch.rank_files import FOLDER, MAX_BYTES, output_of

_NAMED = 5  # files that a message names


def measured(experiment: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str) -> Dict[str, Any]:
    """Return the metrics of a command whose tasks have all succeeded.

    Raise MetricError if an expected pattern is missing, or if a metric has no value.
    """
    for pattern in experiment.get("expect") or ():
        if not any(_searched(pattern, text) for text in _printed(ranks, scratch, with_errors=True)):
            raise MetricError("the expected pattern '%s' was not found in the output" % pattern)
    specs: Dict[str, metrics.Spec] = experiment.get("metrics") or {}
    return {name: _measured(name, spec, ranks, scratch) for name, spec in specs.items()}


def _measured(name: str, spec: metrics.Spec, ranks: List[Dict[str, Any]], scratch: str) -> Dict[str, Any]:
    """Return a metric. Patterns search all output; JSON and CSV only standard output."""
    if spec["file"] is None:
        texts = _printed(ranks, scratch, with_errors=spec["regex"] is not None)
        return metrics.value_of(name, spec, texts, "the output")
    try:
        text = _read(os.path.join(scratch, FOLDER, spec["file"]))
    except OSError as error:
        named = (name, spec["file"], error.strerror, _listed(os.path.join(scratch, FOLDER)))
        raise MetricError("metric '%s': the file %s in $HPCBENCH_RUN: %s; %s" % named) from error
    return metrics.value_of(name, spec, [text], "the file %s" % spec["file"])


def _searched(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.MULTILINE) is not None
    except re.error as error:  # an older Python on the node may lack syntax that the planner's Python has
        raise MetricError("'%s' is not a regular expression: %s" % (pattern, error)) from error


def _printed(ranks: List[Dict[str, Any]], scratch: str, with_errors: bool) -> Iterator[str]:
    """Return the output of the tasks by rank: standard output, then standard error if requested."""
    for rank in ranks:
        if not rank["facts"]["output_complete"]:
            values = (rank["rank"], MAX_BYTES // 2**20)
            message = "rank %d printed more than %d MiB, or continued after its end" % values
            raise MetricError(
                "%s; hpcbench does not search this output: write metrics to a file in $HPCBENCH_RUN" % message
            )
        output = output_of(rank["rank"], scratch)
        for path in output if with_errors else output[:1]:
            yield _read(path)


def _read(path: str) -> str:
    """Return a text without byte order mark. Raise OSError, and MetricError if it is too large."""
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise MetricError("%s is larger than %d MiB" % (os.path.basename(path), MAX_BYTES // 2**20))
    return content.decode("utf-8-sig", "replace")


def _listed(folder: str) -> str:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return "there are: %s" % shown if names else "it is empty"
