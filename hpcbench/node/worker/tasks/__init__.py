"""The tasks that a case can run, one per file. To add one, add its file and its name here."""

from typing import Any, Callable, Dict

from ...frameworks.adapter import Network
from . import inference, training

STEPS: Dict[str, Callable[[Network], Callable[[], Any]]] = {
    "inference": inference.step,
    "training": training.step,
}
