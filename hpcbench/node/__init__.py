"""What runs inside a job: standard library only, Python 3.8 and later, no import from the rest of hpcbench.

Each sweep carries this package as one zipapp, so that it runs in whatever environment a framework needs.
"""


def __getattr__(name: str) -> object:
    """Import what users' programs need on demand, since it requires torch."""
    if name == "apply_schedule":
        from .thread_schedule import apply_schedule

        return apply_schedule
    if name == "find_schedule":
        from .thread_schedule.search.finder import find_schedule

        return find_schedule
    raise AttributeError(name)
