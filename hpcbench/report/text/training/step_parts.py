"""The parts of training steps as columns of text, for terminal and page."""

from __future__ import annotations

import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.training import step_parts
from hpcbench.analysis.training.step_parts import MEMORY, PARTS
from hpcbench.collect.table import identifying_columns
from hpcbench.report.text.ranking import columns_in_words, measured_columns
from hpcbench.report.text.text_columns import Column

TITLE = "Parts of a training step"
RULE = (
    "Differences between the median step times of otherwise equal cases, for the items of one training step. The task "
    "inference is not the forward pass of training: backward - inference is what gradients cost in addition."
)


def parts_of(results: Results) -> pd.DataFrame:
    """Return the parts of each training step that the cases allow (see step_parts.step_parts)."""
    return step_parts.step_parts(results, identifying_columns(results.cases))


def parts_columns(results: Results, parts: pd.DataFrame) -> list[Column]:
    """Return the columns of the parts, with those that identify the cases of each row."""
    known = [part for part in (*PARTS, *MEMORY) if parts[part.column].notna().any()]
    measured = [column for part in known for column in measured_columns(parts, part)]
    shown = [name for name in results.shown if name != "task" and name in parts] or ["model"]
    return [*columns_in_words(parts, shown, measured), *measured]
