"""Labels of cases: the columns in which they differ, the values they share, and names for sentences."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.frameworks import OPERATOR, trains_steps
from hpcbench.core.run_spec import COMMAND

LONGEST = 60  # characters of a value in a sentence
IDENTITY = ("sweep", "case")
MAX_NAMED = 6  # columns that a sentence names
# Columns that distinguish workloads, with their units.
_COUNTS = {
    "sizes": "",
    "parameter_count": "parameters",
    "flops_per_item": "FLOPs per item",
    "held_out": "of the data held out",
    "model_options": "",
    "user_workload": "",
}
_MISSING, _SIZES = "-", "sizes"
_OF_OPERATORS = ("operator", "phase")
# Columns that are often determined by another column, and then are redundant in a label. The batch size is not: without
# it, step times of different batches would look comparable.
_OFTEN_DERIVED = (
    "environment",
    "model_options",
    "sizes",
    "input",
    "learning_rate",
    "execution",
    "threads",
    "cpus_per_task",
    "gpus_per_task",
)


def varying(cases: pd.DataFrame, candidates: list[str]) -> list[str]:
    """Return those of the candidate columns that have more than one value."""
    return [name for name in candidates if name in cases and len(set(map(str, cases[name].tolist()))) > 1]


def telling_apart(cases: pd.DataFrame, candidates: list[str]) -> list[str]:
    """Return the columns that identify cases, without columns that are determined by others."""
    shown = [name for name in varying(cases, candidates) if name != "framework_version"]
    if len(shown) > 1:  # the parameters of a command identify it more briefly than its text
        shown = [name for name in shown if name != "command"]
    for derived in _OFTEN_DERIVED:
        if any(_follows(cases, derived, name) for name in shown if derived in shown and name != derived):
            shown.remove(derived)
    return shown


def _follows(cases: pd.DataFrame, derived: str, name: str) -> bool:
    """Return whether each value of a column determines the value of `derived`."""
    pairs = cases[[derived, name]].astype(str)
    return len(pairs.drop_duplicates()) == pairs[name].nunique()


def label(case: pd.Series[Any], shown: list[str]) -> str:
    """Return `nodes=2 batch_size=64` for a case."""
    return " ".join(f"{plain(name)}={cell(case[name])}" for name in shown) or str(case["case"])


def label_of_known(case: pd.Series[Any], shown: list[str]) -> str:
    """Return the label of a case for a title: without missing values, and empty instead of its ID.

    Sizes are `m=512 n=64`, and not as users write them for commands, `sizes={"m": 512, "n": 64}`.
    """
    return " ".join(_valued(name, case[name]) for name in shown if cell(case[name]) != _MISSING)


def _valued(name: str, value: Any) -> str:
    """Return `nodes=2`, and for sizes `m=512 n=64`."""
    return sizes_in_words(value) if name == _SIZES and isinstance(value, str) else f"{plain(name)}={cell(value)}"


def phrase(case: pd.Series[Any], shown: list[str]) -> str:
    """Return the name of a case in a sentence: `pytorch with intra_op_threads=2, nodes=1`."""
    framework = cell(case["framework"]) if "framework" in shown else ""
    others = [f"{plain(name)}={_short(cell(case[name]))}" for name in shown if name != "framework"]
    if len(others) > MAX_NAMED:
        others[MAX_NAMED:] = [f"and {len(others) - MAX_NAMED} more (case {case['case']})"]
    return " with ".join(filter(None, (framework, ", ".join(others)))) or str(case["case"])


def titles(works: Sequence[pd.DataFrame], firsts: Sequence[Mapping[Any, Any]], short: Sequence[str]) -> list[str]:
    """Return the title of each workload, given its first case. Equal titles are followed by the short titles."""
    names = [_title(cases, first) for cases, first in zip(works, firsts, strict=True)]
    counts = Counter(names)
    return [f"{name} ({own})" if counts[name] > 1 else name for name, own in zip(names, short, strict=True)]


def _title(cases: pd.DataFrame, first: Mapping[Any, Any]) -> str:
    """Return the title of cases of one workload: the workload and, if the cases agree, framework and device."""
    if first["framework"] == COMMAND:
        return f"{first['experiment']}: {first['command'] if cases['command'].nunique() == 1 else 'commands'}"
    if first["task"] == OPERATOR:
        return f"{shared_by(cases)}, {sizes_in_words(first['sizes'])}"
    count = int(first["parameter_count"])  # 0 of an input pipeline
    return f"{shared_by(cases)}, {count:,} parameters" if count else shared_by(cases)


def sizes_in_words(sizes: str) -> str:
    """Return `m=512 n=64` for the sizes of an operator, which are JSON; `default sizes` if none is set."""
    return " ".join(f"{name}={value}" for name, value in json.loads(sizes).items()) or "default sizes"


def shared_by(cases: pd.DataFrame) -> str:
    """Return the values that all models share: `inference float32 pytorch cpu, batch size 4`."""
    names = ("model", "task", "operator", "phase", "dtype", "framework", "device")
    shared = [name for name in names if cases[name].nunique() == 1]
    sizes = [f"batch size {cases['batch_size'].iat[0]}"] if cases["batch_size"].nunique() == 1 else []
    return ", ".join(filter(None, [" ".join(cell(cases[name].iat[0]) for name in shared), *sizes]))


def short_titles(works: Sequence[pd.DataFrame], firsts: Sequence[Mapping[Any, Any]]) -> list[str]:
    """Return short titles that identify each workload, given its first case: `lstm inference`.

    If that is not unique, user parameters are added, `lstm with network=wide`, otherwise counts and model options,
    `mlp with 1,000 parameters and 2,000 FLOPs per item`, or sizes, `gemm with m=512 n=64`.
    """
    candidates = ["model", "task", "operator", "phase", "dtype", "data", "target_accuracy", "math_mode"]
    words = varying(pd.DataFrame(firsts), candidates)
    optimizers = {first["optimizer"] for first in firsts if trains_steps(first["task"])}
    of_training = [*words, "optimizer"] if len(optimizers) > 1 else words
    names: list[tuple[str, ...]] = [
        (_in_words(first, of_training if trains_steps(first["task"]) else words),) for first in firsts
    ]
    if len(set(names)) < len(names):
        tagged = [(*name, *tagged_with) for name, tagged_with in zip(names, _tags(works, firsts), strict=True)]
        names = tagged if len(set(tagged)) == len(names) else names
    for column, unit in _COUNTS.items():
        values = defaultdict(set)
        texts = [_detail(column, first[column], unit) for first in firsts]
        for name, text in zip(names, texts, strict=True):
            values[name].add(text)
        names = [(*name, text) if len(values[name]) > 1 else name for name, text in zip(names, texts, strict=True)]
    return [" with ".join(filter(None, (title, " and ".join(counts)))) for title, *counts in names]


def _detail(column: str, value: Any, unit: str) -> str:
    """Return `1,000 parameters` for a number, `m=512 n=64` for sizes, otherwise the value as text."""
    if column == _SIZES and isinstance(value, str):
        return sizes_in_words(value)
    return f"{value:,.12g} {unit}" if isinstance(value, (int, float, np.number)) else cell(value)


def _tags(works: Sequence[pd.DataFrame], firsts: Sequence[Mapping[Any, Any]]) -> list[tuple[str, ...]]:
    """Return for each workload the user parameters that all of its cases share and other workloads do not."""
    frame = pd.DataFrame(firsts)
    shown = [
        name
        for name in varying(frame, [column for column in map(str, frame) if column.startswith(USER_PARAMETER)])
        if all(len(cases) == 1 or cases[name].astype(str).nunique(dropna=False) == 1 for cases in works)
    ]
    return [tuple(f"{plain(name)}={cell(first[name])}" for name in shown) for first in firsts]


def _in_words(work: Mapping[Any, Any], words: list[str]) -> str:
    commands = work["framework"] == COMMAND
    if commands:
        return str(work["experiment"])
    named = [name for name in words if name not in _OF_OPERATORS or work["task"] == OPERATOR]
    return " ".join(text for name in named if (text := cell(work[name])) != _MISSING)


def plain(column: str) -> str:
    """Return the name of a column without the prefix of user parameters."""
    return column.removeprefix(USER_PARAMETER)


def column_called(name: str, cases: pd.DataFrame) -> str:
    """Return the column that a user calls `name`: a user parameter without its prefix, otherwise the column itself.

    The columns that identify a case, `sweep` and `case`, come before user parameters with these names.
    """
    own = USER_PARAMETER + name
    if name not in IDENTITY and own in cases:
        return own
    return name if name in cases else name.removeprefix("optimizer.")  # as in `optimizer.learning_rate`


def cell(value: Any) -> str:
    """Return a value as text; `-` if it is missing."""
    return _MISSING if value is None or value is pd.NA or value != value else str(value)


def _short(text: str) -> str:
    """Return both ends of a long text, since paths often differ at the end."""
    half = (LONGEST - 3) // 2
    return text if len(text) <= LONGEST else f"{text[:half]}...{text[half + 3 - LONGEST :]}"
