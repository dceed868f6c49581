"""The code that runs inside a job, for Python 3.8 and later: it imports the standard library, `core` and `models`.

Workers also import numpy and their framework, and monitors import libraries of GPU vendors. Each sweep carries this
package as one zipapp, so that it runs in the environment of any framework.
"""


def __getattr__(name: str) -> object:
    """Import the functions for users' programs on demand, since they require torch. Raise AttributeError otherwise."""
    if name == "apply_schedule":
        from .thread_schedule import apply_schedule

        return apply_schedule
    if name == "find_schedule":
        from .thread_schedule.search.finder import find_schedule

        return find_schedule
    raise AttributeError(name)
