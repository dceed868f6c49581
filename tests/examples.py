"""How many examples hypothesis tries of each test: few in `make unit`, all otherwise."""

from __future__ import annotations

from hypothesis import settings

QUICK = "quick"
settings.register_profile("here", deadline=None)  # machines that run tests are busy
settings.register_profile(QUICK, deadline=None, max_examples=10)
settings.load_profile("here")


def examples(count: int) -> int:
    """Return `count`, or the number of examples of the quick profile if that is loaded."""
    return settings.default.max_examples if settings.get_current_profile_name() == QUICK else count
