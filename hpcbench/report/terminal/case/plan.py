"""The plan of a case: status, parameters, measurement settings and requested Slurm options."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from hpcbench.config.parameters import Parameters
from hpcbench.config.workload.nested import shown_value
from hpcbench.core.status import COMPLETED, METRIC_NOT_FOUND, STATUSES
from hpcbench.models import optimizers
from hpcbench.report.terminal.case.facts import Fact, Facts
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.terminal.status import counted
from hpcbench.util.text import plural

_OWN_LINE = "command"  # may have several lines


def title(view: CaseView) -> Text:
    """Return id, status and label of a case: `c98abd9891da7 completed: task=training intra_op_threads=1`."""
    named = "" if view.label == view.planned.case_id else f": {view.label}"
    lacks = f", {METRIC_NOT_FOUND}" if view.status == COMPLETED and not view.completed else ""
    return Text.assemble((view.planned.case_id, "bold"), " ", status(view.status), (lacks, "yellow"), named)


def status(word: str) -> Text:
    """Return a status with its colour."""
    good = word == COMPLETED
    return Text(word, style="green" if good else "red" if word in STATUSES else "yellow")


def plan(view: CaseView) -> Facts:
    """Return the plan of a case, with parameters that differ from their defaults first."""
    planned = dict(view.planned.parameters)
    usual = {name: field.default for name, field in Parameters.model_fields.items()}
    usual["model_options"] = {}
    if planned.get("optimizer"):
        planned["optimizer"], usual["optimizer"] = shown_value(planned, "optimizer"), optimizers.DEFAULT
    given = {name: value for name, value in planned.items() if value is not None}
    own = {name: value for name, value in given.items() if value != usual.get(name)}
    rest = {name: value for name, value in given.items() if name not in own}
    own.pop(_OWN_LINE, None)
    site, paths = view.sweep.description["site"]["name"], view.sweep.paths
    facts: list[Fact] = [
        ("sweep", f"{paths.name} on {site}" + (f", from the archive {paths.archive}" if paths.archive else "")),
        ("runs", counted(view.progress.counts())),
        ("command", planned.get(_OWN_LINE)),
        ("parameters", assigned(own)),
        ("user_parameters", assigned(view.planned.user_parameters)),
        ("defaults", Text(assigned(rest), style="dim")),
        ("measure", "; ".join(_measures(view))),
        ("requested", "; ".join(_asked(view))),
    ]
    return Facts(facts)


def _measures(view: CaseView) -> Iterable[str]:
    """Yield the distinct measurement settings of the runs, since a search measures briefly first."""
    ways = Counter(assigned(run.planned.measure) for run in view.runs)
    for way, times in ways.items():
        yield way if len(ways) == 1 else f"{plural(times, 'run')} with {way}"


def _asked(view: CaseView) -> Iterable[str]:
    """Return the distinct requested Slurm options of the jobs, or the limits of a local run."""
    jobs = {run.job: view.sweep.description["jobs"][run.job]["slurm"] for run in view.runs}
    return dict.fromkeys(assigned({"time": view.sweep.slurm(job).time, **asked}) for job, asked in jobs.items())


def assigned(values: Mapping[str, Any]) -> str:
    """Return values as text: `nodes=2 data={"npz": "digits.npz"}`."""
    return " ".join(f"{name}={_written(value)}" for name, value in values.items())


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps({name: each for name, each in value.items() if each is not None}, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)
