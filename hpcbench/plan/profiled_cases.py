"""Which cases can be profiled: the operators of networks of PyTorch, in one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hpcbench.config.workload.nested import shown_value
from hpcbench.core.frameworks import DYNAMIC
from hpcbench.core.profiling.which_cases import AUTO_WINDOWS, FRAMEWORK, SHORTEST_WINDOW_S, TASKS, refusal
from hpcbench.errors import UserError
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.config.experiment import Experiment, Measure
    from hpcbench.config.parameters import Parameters
    from hpcbench.config.yaml_document import Document
    from hpcbench.plan.case import Case
    from hpcbench.plan.packing import Job

_PATH = ("measure", "profile")
_MOST_NAMED = 5  # cases in a warning
# For estimates: the distinct operators of a network, and the time for all of them as a multiple of `max_time_s`.
OPERATORS, TIMING = 60, 10.0


def profiled(
    cases: Sequence[Case], experiment: Experiment, document: Document
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Return the cases of an experiment with `measure.profile`, and a warning for each reason to skip some of them.

    Raise UserError if a case cannot be profiled, unless `unsupported: skip` is set and another case can be.
    """
    profile = experiment.measure.profile
    reasons = {case.id: unsupported(case.parameters) for case in cases} if profile else {}
    refused = [case for case in cases if reasons.get(case.id)]
    if not profile or not refused:
        return tuple(cases), ()
    first = refused[0]
    named = f"case {first.id}{_values(first, experiment)}"
    hint = "exclude it, or skip such cases: --set measure.profile.unsupported=skip"
    if len(refused) == len(cases):
        hint = f"use {' and '.join(_required(first.parameters))}"
    if profile.unsupported == "refuse":
        raise document.error(f"{named} cannot be profiled: {reasons[first.id]}", _PATH, hint)
    if len(refused) == len(cases):
        what = f"'{experiment.name}' has no case that can be profiled: {named}: {reasons[first.id]}"
        raise UserError(what, hint=hint)
    by_reason: dict[str, list[str]] = {}
    for case in refused:
        by_reason.setdefault(reasons[case.id], []).append(f"{case.id}{_values(case, experiment)}")
    left = [case for case in cases if not reasons[case.id]]
    warnings = tuple(_left_out(reason, names) for reason, names in by_reason.items())
    return tuple(replace(case, index=index) for index, case in enumerate(left)), warnings


def _left_out(reason: str, names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    named = ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    what = f"{plural(len(names), 'case')} cannot be profiled and {'is' if len(names) == 1 else 'are'} left out"
    return f"{what}: {named}: {reason}"


def unsupported(parameters: Parameters) -> str:
    """Return why the operators of a case cannot be profiled; an empty text if they can."""
    p = parameters
    return refusal(p.framework, p.task, p.strategy, p.tasks * p.instances, p.threads)


def _required(p: Parameters) -> Iterator[str]:
    """Yield what a case requires for a profile and does not have."""
    if p.framework != FRAMEWORK:
        yield f"framework: {FRAMEWORK}"
    if p.task not in TASKS:
        yield f"task: {' or '.join(TASKS)}"
    if p.strategy != "single" or p.tasks * p.instances > 1:
        yield "strategy: single with one task and one instance"
    if p.threads == DYNAMIC:
        yield "threads: fixed"


def _values(case: Case, experiment: Experiment) -> str:
    """Return the values of the axes of a case in parentheses: ` (framework=jax, task=training)`."""
    values = {**case.parameters.model_dump(mode="json"), **case.user_parameters}
    named = ", ".join(f"{name}={shown_value(values, name)}" for name in experiment.axis_names)
    return f" ({named})" if named else ""


@dataclass(frozen=True)
class Estimate:
    """The estimated seconds of a profiled run, without the start of its process."""

    timing_s: float  # warm-up, measurements and times of the operators
    power_s: float  # in addition, on a node with a power sensor

    def node_hours(self, jobs: Sequence[Job]) -> tuple[float, float]:
        """Return the node-hours of all runs of jobs: without power, and in addition with it."""
        runs = sum(len(job.runs) * job.resources.nodes for job in jobs)
        return runs * self.timing_s / 3600, runs * self.power_s / 3600


def estimate(measure: Measure) -> Estimate | None:
    """Return how long a profiled run takes, by the settings of `measure`, at all clocks; None without a profile."""
    profile = measure.profile
    if profile is None:
        return None
    asked = {"off": 0, "auto": AUTO_WINDOWS}.get(str(profile.power), profile.power)
    windows = min(int(asked), OPERATORS) + 2 if asked else 0  # those of the network and of the idle device, too
    once_s, states = measure.max_warmup_s + measure.max_time_s * (1 + TIMING), 1 + (profile.clocks or 0)
    return Estimate(states * once_s, states * SHORTEST_WINDOW_S * windows)
