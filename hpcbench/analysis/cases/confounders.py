"""Factors that may differ between compared cases although no parameter sets them: software, machine, nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.run_spec import COMMAND

WORK = "work"  # column of the workload, within which runs are compared
PLACE = "nodes_used"
_SOFTWARE = ("framework", "strategy", "environment")
_MACHINE = ("site", "device", "gpus_per_task", "nodes", "placement")
# Each factor, and the columns that may determine it. User parameters may determine software, too. They choose a machine
# only by Slurm options, i.e. `placement`; otherwise a value has run on one kind of machine by chance.
FACTORS = {
    "framework_version": _SOFTWARE,
    "software": (*_SOFTWARE, "framework_version"),  # reported once, as framework_version
    "cpu_model": _MACHINE,
    "cpu_governor": _MACHINE,
    "cpu_turbo": _MACHINE,
    "gpu_model": _MACHINE,
    "kernel": _MACHINE,
    "outside_variables": (),
    "hpcbench_version": (),
}
_OF_MACHINES = ("cpu_model", "cpu_governor", "cpu_turbo", "kernel")
_OF_MODELS = ("framework_version", "effective_intra_op_threads")
_OF_GPUS = ("gpu_model",)
_MAX_VALUES, _LONGEST = 3, 40  # number and length of the values of a factor in a line of text

Values = dict[str, list[str]]


def uncontrolled(repetitions: pd.DataFrame) -> Values:
    """Return the values of each factor that differs within a workload although all columns that may set it agree.

    Nodes count only if they are confounded with the case: two cases ran on one node list each, and these differ. If
    runs are spread over nodes at random, their interval includes the effect (Hoefler and Belli, 2015, section
    4.1.1).
    """
    found = {name: _differing(repetitions, name, setters) for name, setters in FACTORS.items()}
    places = repetitions.groupby(["sweep", "case"], sort=False)[PLACE].transform("nunique")
    found[PLACE] = _differing(repetitions[places == 1], PLACE, _MACHINE)
    return {name: values for name, values in found.items() if values}


def _differing(repetitions: pd.DataFrame, factor: str, setters: tuple[str, ...]) -> list[str]:
    if repetitions[factor].nunique() < 2:
        return []
    user_parameters = (
        [str(name) for name in repetitions if str(name).startswith(USER_PARAMETER)] if setters is not _MACHINE else []
    )
    alike = repetitions.groupby([WORK, *setters, *user_parameters], sort=False, dropna=False)[factor]
    return [str(value) for value in repetitions.loc[alike.transform("nunique") > 1, factor].dropna().unique()]


def confounded_with(repetitions: pd.DataFrame, factor: str, axes: Sequence[str]) -> list[str]:
    """Return the axes that are confounded with a factor, because each of their values ran with one value of the factor.

    Each value must have several runs, unless axis and factor have the same number of values.
    """
    known = repetitions[repetitions[factor].notna()]
    found = []
    for axis in axes:
        groups = known.groupby(axis, sort=False, dropna=False)[factor]
        several = groups.size().min() > 1 or len(groups) == known[factor].nunique()
        if len(groups) > 1 and several and groups.nunique().max() == 1:
            found.append(axis)
    return found


def unknown(repetitions: pd.DataFrame) -> list[str]:
    """Return the factors that are missing for some run."""
    repetitions = repetitions[["framework", "device", *_OF_MACHINES, *_OF_MODELS, *_OF_GPUS]]
    models = repetitions[repetitions["framework"] != COMMAND]
    on_gpus = models[models["device"] == "gpu"]
    asked = ((repetitions, _OF_MACHINES), (models, _OF_MODELS), (on_gpus, _OF_GPUS))
    return [name for rows, names in asked for name in names if rows[name].isna().any()]


def in_words(factor: tuple[str, list[str]]) -> str:
    """Return a factor with its values in brackets, or with their number if they are many or long."""
    name, values = factor
    listed = len(values) <= _MAX_VALUES and max(map(len, values)) <= _LONGEST
    return f"{name} ({', '.join(values) if listed else f'{len(values)} values'})"
