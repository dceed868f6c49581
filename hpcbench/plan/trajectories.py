"""Which experiments can record trajectories: those with a case that trains in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpcbench.core.training.trajectory import TASKS, refusal

if TYPE_CHECKING:
    from hpcbench.config.experiment import Experiment
    from hpcbench.config.yaml_document import Document
    from hpcbench.plan.case import Case


def check_trajectory(cases: Sequence[Case], experiment: Experiment, document: Document) -> None:
    """Raise UserError if `measure.trajectory` is set and no case records one.

    Among others, cases without a trajectory are allowed; the report has the reason of those that train.
    """
    if not experiment.measure.trajectory:
        return
    reasons = [refusal(p.strategy, p.threads) for case in cases if (p := case.parameters).task in TASKS]
    what, hint = f"no case has task: {' or '.join(TASKS)}", f"set task: {TASKS[0]}, or remove measure.trajectory"
    if reasons:
        what, hint = reasons[0], "set strategy: single in a case without threads: dynamic, or remove measure.trajectory"
    if all(reasons):
        raise document.error(f"no case records a trajectory: {what}", ("measure", "trajectory"), hint)
