"""The metrics of a command that has completed, from its output and from its files in `$HPCBENCH_RUN`."""

import os
from functools import lru_cache
from typing import Any, Dict, List, Sequence

from ...core.metrics import of_command
from ...core.metrics.error import MetricError
from ...core.metrics.kept_output import MOST_OF_FILE
from ...core.metrics.of_command import Measured, Text, text_of
from ...core.metrics.plain_text import decoded
from ..launch import output_copy
from ..launch.rank_files import FOLDER, output_of

_NAMED = 5  # files that a message names
_CACHED = 2  # outputs in memory: one task may have several metrics


def measured(experiment: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str) -> Measured:
    """Return the metrics of a command whose tasks have all succeeded; a metric without a value has a reason.

    Raise MetricError if an expected pattern was not found.
    """
    complete = {rank["rank"]: rank["facts"]["output_complete"] for rank in ranks}
    output = _Output(complete, scratch)
    return of_command.measured(experiment.get("metrics") or {}, experiment.get("expect") or (), output)


class _Output:
    """The output of the ranks of a run in its scratch folder."""

    def __init__(self, complete: Dict[int, bool], scratch: str) -> None:
        """`complete` is, for each rank, whether its output was copied without losses."""
        self._complete, self._scratch = complete, scratch
        self._printed = lru_cache(_CACHED)(self._read)

    @property
    def ranks(self) -> Sequence[int]:
        """Return the ranks."""
        return list(self._complete)

    def texts(self, rank: int, with_errors: bool) -> List[Text]:
        """Return the standard output of a rank, then its standard error if requested.

        Raise MetricError if the output is incomplete.
        """
        if not self._complete[rank]:
            raise MetricError(
                "the output of rank %d is incomplete: the disk was full, or processes continued after the command; "
                "write metrics to a file in $HPCBENCH_RUN" % rank
            )
        return self._printed(rank, with_errors)

    def _read(self, rank: int, with_errors: bool) -> List[Text]:
        paths = output_of(rank, self._scratch)[: 2 if with_errors else 1]
        return [text_of(output_copy.parts(path), rank) for path in paths]

    def file_text(self, name: str) -> str:
        """Return the text of a file of the command. Raise MetricError if it cannot be read, or is too large."""
        folder = os.path.join(self._scratch, FOLDER)
        try:
            with open(os.path.join(folder, name), "rb") as opened:
                content = opened.read(MOST_OF_FILE + 1)
        except OSError as error:
            named = (name, error.strerror, _listed(folder))
            raise MetricError("the file %s in $HPCBENCH_RUN: %s; %s" % named) from error
        if len(content) > MOST_OF_FILE:
            raise MetricError("the file %s is larger than %d MiB" % (name, MOST_OF_FILE // 2**20))
        return decoded([content])


def _listed(folder: str) -> str:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return "there are: %s" % shown if names else "it is empty"
