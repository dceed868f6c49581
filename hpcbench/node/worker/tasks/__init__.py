"""The tasks that a case can run, one per file. To add one, add its file and its name here."""

from typing import Any, Callable, Dict

from . import backward, inference, input_pipeline, operator, training

STEPS: Dict[str, Callable[[Any], Callable[[], Any]]] = {
    "inference": inference.step,
    "backward": backward.step,
    "training": training.step,
    "input_pipeline": input_pipeline.step,
    "operator": operator.step,
}
