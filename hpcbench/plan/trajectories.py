"""Which experiments can record trajectories: those with a case that trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hpcbench.core.training.trajectory import TASKS

if TYPE_CHECKING:
    from hpcbench.config.experiment import Experiment
    from hpcbench.config.yaml_document import Document
    from hpcbench.plan.case import Case


def check_trajectory(cases: Sequence[Case], experiment: Experiment, document: Document) -> None:
    """Raise UserError if `measure.trajectory` is set and no case trains."""
    if experiment.measure.trajectory and not any(case.parameters.task in TASKS for case in cases):
        what = f"no case records a trajectory: none has task: {' or '.join(TASKS)}"
        raise document.error(what, ("measure", "trajectory"), "set such a task, or remove measure.trajectory")
