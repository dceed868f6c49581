"""The trainings to a target accuracy in the ranks of a run: of one model, or of a model in each rank."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ...core.run_spec import PlannedRun
from ...core.training.learning import Learning
from ...core.typed_json import from_json


class Trainings(NamedTuple):
    """The training that stands for a run, and those of all models if there are several."""

    learning: Optional[Learning]
    models: Sequence[Learning]


def trainings(planned: PlannedRun, facts: List[Dict[str, Any]]) -> Trainings:
    """Return the trainings of a run from the facts of its ranks.

    Of several models, the last one that reached the target stands for the run, because its time is that of the run;
    the first one if none did.
    """
    each = [from_json(Learning, fact["learning"]) for fact in facts if fact.get("learning")]
    if not each:
        return Trainings(None, [])
    if len(each) == 1 or planned.parameters["strategy"] != "single":  # otherwise the ranks share a model
        return Trainings(each[0], [])
    return Trainings(max(each, key=lambda model: model.elapsed_s or 0.0), each)
