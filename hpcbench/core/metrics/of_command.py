"""The metrics of a command that has completed, from its output and its files: on the node, or from kept output."""

import re
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Protocol, Sequence

from .error import MetricError
from .kept_output import LAST, SEGMENT_BYTES, Part, missing_bytes
from .plain_text import decoded
from .value import Spec, not_found, value_of

WARNING = "metric '%s': %s"
_COMPLETE = ("sum",)  # reductions that are impossible without the middle of an output
_MIDDLE = "%s in the middle of the output of rank %d was not searched"
_LIMITS = "hpcbench keeps the first %d MiB and the last %d to %d MiB of each stream" % tuple(
    count * SEGMENT_BYTES // 2**20 for count in (1, LAST - 1, LAST)
)


class Text(NamedTuple):
    """A text to search; `gap` describes what is missing, if anything."""

    content: str
    gap: str = ""


class Output(Protocol):
    """The output of the ranks of a command, and its files."""

    @property
    def ranks(self) -> Sequence[int]:
        """Return the ranks, in the order in which they are searched."""

    def texts(self, rank: int, with_errors: bool) -> List[Text]:
        """Return the standard output of a rank, then its standard error if requested.

        Raise MetricError if the output is incomplete.
        """

    def file_text(self, name: str) -> str:
        """Return the text of a file in `$HPCBENCH_RUN`. Raise MetricError if it cannot be read, or is too large."""


class Measured(NamedTuple):
    """The metrics of a command by name, as a record holds them, and warnings."""

    metrics: Dict[str, Dict[str, Any]]
    warnings: List[str]


def measured(metrics: Mapping[str, Spec], expect: Iterable[str], output: Output) -> Measured:
    """Return the metrics of a command whose tasks have all succeeded, from its output and files.

    A metric without a value has a reason. Raise MetricError if an expected pattern was not found.
    """
    for pattern in expect:
        _check_expected(pattern, output)
    found = Measured({}, [])
    of_output = {name: spec for name, spec in metrics.items() if spec.get("log") is None}  # logged.py has the others
    for name, spec in of_output.items():
        try:
            found.metrics[name] = _measured(name, spec, output, found.warnings)
        except MetricError as error:
            found.metrics[name] = not_found(spec, str(error))
        except Exception as error:  # unforeseen output, which is kept: the run has completed
            found.metrics[name] = not_found(spec, "hpcbench failed: %s: %s" % (type(error).__name__, error))
    return found


def text_of(parts: Sequence[Part], rank: int) -> Text:
    """Return the text of a stream of a rank from its parts."""
    missing = missing_bytes(parts)
    gap = _MIDDLE % ("%.1f MiB" % (missing / 2**20), rank) if missing else ""
    return Text(decoded([part.content for part in parts]), gap)


def _measured(name: str, spec: Spec, output: Output, warnings: List[str]) -> Dict[str, Any]:
    """Return a metric. Patterns search all output; other options only standard output."""
    if spec["file"] is not None:
        return value_of(spec, [output.file_text(spec["file"])], "the file %s" % spec["file"])
    texts = [text for rank in output.ranks for text in output.texts(rank, spec["regex"] is not None)]
    gaps = [text.gap for text in texts if text.gap]
    if gaps and spec["reduce"] in _COMPLETE:
        raise MetricError("%s, and `reduce: %s` requires the whole output" % (gaps[0], spec["reduce"]))
    missing = "%s: %s" % (gaps[0], _LIMITS) if gaps else ""
    found = value_of(spec, [text.content for text in texts], "the output", missing)
    if gaps and spec["reduce"] not in ("first", "last"):
        warnings.append(WARNING % (name, gaps[0]))
    return found


def _check_expected(pattern: str, output: Output) -> None:
    gap = ""
    for rank in output.ranks:
        for text in output.texts(rank, True):
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
