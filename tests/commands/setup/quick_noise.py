"""A noise floor without waiting, for tests of doctor that are about something else. One test waits for the real one."""

from __future__ import annotations

from hpcbench.node.checks import noise_floor


def measure_at_once() -> None:
    """Replace the seconds that it measures by a few times that it could have measured."""
    noise_floor._window = lambda seconds: [0.0010, 0.0011, 0.0012]  # type: ignore[assignment]
