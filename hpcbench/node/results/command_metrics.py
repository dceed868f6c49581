"""The metrics of a command that has completed, from its output and from its files in `$HPCBENCH_RUN`."""

import os
import re
from functools import lru_cache
from typing import Any, Callable, Dict, List, NamedTuple

from ...core.metrics.error import MetricError
from ...core.metrics.plain_text import decoded
from ...core.metrics.value import Spec, better, value_of
from ..launch import output_copy
from ..launch.rank_files import FOLDER, MAX_BYTES, output_of

_NAMED = 5  # files that a message names
_CACHED = 2  # outputs in memory: one task may have several metrics
_COMPLETE = ("sum",)  # reductions that are impossible without the middle of an output
_MIDDLE = "%s in the middle of the output of rank %d were not searched"


class Text(NamedTuple):
    """A text to search; `gap` describes what is missing, if anything."""

    content: str
    gap: str = ""


class Measured(NamedTuple):
    """The metrics of a command by name, as a record holds them, and warnings."""

    metrics: Dict[str, Dict[str, Any]]
    warnings: List[str]


Read = Callable[[int, bool], List[Text]]  # by rank, and whether standard error is searched, too


def measured(experiment: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str) -> Measured:
    """Return the metrics of a command whose tasks have all succeeded; a metric without a value has a reason.

    Raise MetricError if an expected pattern was not found.
    """
    read = lru_cache(_CACHED)(lambda rank, with_errors: _printed(rank, scratch, with_errors))
    complete = {rank["rank"]: rank["facts"]["output_complete"] for rank in ranks}
    for pattern in experiment.get("expect") or ():
        _check_expected(pattern, complete, read)
    found = Measured({}, [])
    for name, spec in (experiment.get("metrics") or {}).items():
        try:
            found.metrics[name] = _measured(name, spec, complete, read, scratch, found.warnings)
        except MetricError as error:
            found.metrics[name] = _not_found(spec, str(error))
        except Exception as error:  # unforeseen output, which is kept: the run has completed
            found.metrics[name] = _not_found(spec, "hpcbench failed: %s: %s" % (type(error).__name__, error))
    return found


def _not_found(spec: Spec, reason: str) -> Dict[str, Any]:
    return {"value": None, "unit": spec["unit"], "better": better(spec), "reduce": spec["reduce"], "reason": reason}


def _measured(
    name: str, spec: Spec, complete: Dict[int, bool], read: Read, scratch: str, warnings: List[str]
) -> Dict[str, Any]:
    """Return a metric. Patterns search all output; other options only standard output."""
    if spec["file"] is not None:
        return value_of(spec, [_of_file(spec["file"], scratch)], "the file %s" % spec["file"])
    texts = [text for rank in complete for text in _checked(rank, complete[rank], read, spec["regex"] is not None)]
    gaps = [text.gap for text in texts if text.gap]
    if gaps and spec["reduce"] in _COMPLETE:
        raise MetricError("%s, and `reduce: %s` requires all of it" % (gaps[0], spec["reduce"]))
    found = value_of(spec, [text.content for text in texts], "the output")
    if gaps and spec["reduce"] not in ("first", "last"):
        warnings.append("metric '%s': %s" % (name, gaps[0]))
    return found


def _checked(rank: int, complete: bool, read: Read, with_errors: bool) -> List[Text]:
    if not complete:
        raise MetricError(
            "the output of rank %d is incomplete: the disk was full, or processes continued after the command; "
            "write metrics to a file in $HPCBENCH_RUN" % rank
        )
    return read(rank, with_errors)


def _check_expected(pattern: str, complete: Dict[int, bool], read: Read) -> None:
    gap = ""
    for rank in complete:
        for text in _checked(rank, complete[rank], read, True):
            if _searched(pattern, text.content):
                return
            gap = gap or text.gap
    message = "the expected pattern '%s' was not found in the output" % pattern
    raise MetricError("%s; %s" % (message, gap) if gap else message)


def _searched(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.MULTILINE) is not None
    except re.error as error:  # an older Python on the node may lack syntax that the planner's Python has
        raise MetricError("'%s' is not a regular expression: %s" % (pattern, error)) from error


def _printed(rank: int, scratch: str, with_errors: bool) -> List[Text]:
    """Return the output of a task: standard output, then standard error if requested."""
    texts = []
    for path in output_of(rank, scratch)[: 2 if with_errors else 1]:
        parts = output_copy.parts(path)
        missing = output_copy.missing_bytes(parts)
        gap = _MIDDLE % ("%.1f MiB" % (missing / 2**20), rank) if missing else ""
        texts.append(Text(decoded([part.content for part in parts]), gap))
    return texts


def _of_file(file: str, scratch: str) -> str:
    """Return the text of a file of the command. Raise MetricError if it cannot be read, or is too large."""
    folder = os.path.join(scratch, FOLDER)
    try:
        with open(os.path.join(folder, file), "rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        named = (file, error.strerror, _listed(folder))
        raise MetricError("the file %s in $HPCBENCH_RUN: %s; %s" % named) from error
    if len(content) > MAX_BYTES:
        raise MetricError("the file %s is larger than %d MiB" % (file, MAX_BYTES // 2**20))
    return decoded([content])


def _listed(folder: str) -> str:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return "there are: %s" % shown if names else "it is empty"
