"""Which cases have a profile of operators, and how many power windows: a plan and the node follow the same rules."""

from typing import Optional

from ..frameworks import DYNAMIC

FRAMEWORK = "pytorch"
TASKS = ("inference", "training")
AUTO_WINDOWS = 80  # operators that get a power window with `power: auto`: at 2 s or more each, some three minutes
SHORTEST_WINDOW_S = 2.0  # of a power window; slow sensors need longer ones


def refusal(framework: str, task: str, strategy: Optional[str], processes: int, threads: Optional[str]) -> str:
    """Return why the operators of a case cannot be profiled; an empty text if they can."""
    if framework != FRAMEWORK:
        return "framework: %s is not supported, only %s" % (framework, FRAMEWORK)
    if task not in TASKS:
        return "task: %s is not supported, only %s" % (task, " and ".join(TASKS))
    if strategy != "single" or processes > 1:
        return "it runs in several processes; a profile requires strategy: single, one task and one instance"
    if threads == DYNAMIC:
        return "threads: dynamic is not supported: the operators of a layer would have its threads only in the network"
    return ""
