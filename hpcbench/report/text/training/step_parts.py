"""The parts of training steps as columns of text, for terminal and page."""

from __future__ import annotations

import pandas as pd

from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.results import Results
from hpcbench.analysis.training import step_parts
from hpcbench.analysis.training.step_parts import MEMORY, PARTS
from hpcbench.collect.table import identifying_columns
from hpcbench.report.text.ranking import columns_in_words, measured_columns
from hpcbench.report.text.text_columns import NEVER, Column

TITLE = "Parts of a training step"
_OF_TASKS = 1  # Column.gives_way of the times of whole tasks, which rankings have, too
RULE = (
    "Differences between the median step times of otherwise equal cases, for the items of one training step. The task "
    "inference is not the forward pass of training: backward - inference is what gradients cost in addition."
)


def parts_of(results: Results) -> pd.DataFrame:
    """Return the parts of each training step that the cases allow (see step_parts.step_parts)."""
    return step_parts.step_parts(results, identifying_columns(results.cases))


def parts_columns(results: Results, parts: pd.DataFrame) -> list[Column]:
    """Return the columns of the parts, with those that tell the rows apart."""
    known = [part for part in (*PARTS, *MEMORY) if parts[part.column].notna().any()]
    measured = [
        column
        for part in known
        for column in measured_columns(parts, part, _OF_TASKS if len(PARTS.get(part, ())) == 1 else NEVER)
    ]
    shown = telling_apart(parts, identifying_columns(results.cases)) or ["model"]
    return [*columns_in_words(parts, shown, measured), *measured]
