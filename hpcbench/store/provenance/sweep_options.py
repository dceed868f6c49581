"""The command-line options of a sweep that change what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Origin:
    """The sweep that another one repeats."""

    sweep: str
    created_at: str
    archive: str | None = None  # the file that it was read from


@dataclass(frozen=True)
class SweepOptions:
    """The command-line options that change what runs."""

    settings: tuple[str, ...] = ()  # of --set, in order
    limit: int | None = None
    local: bool = False
    origin: Origin | None = None  # of --from

    def as_json(self) -> dict[str, Any]:
        """Return the options as the description of a sweep has them."""
        return {
            "settings": list(self.settings),
            "limit": self.limit,
            "local": self.local,
            "from": None if self.origin is None else vars(self.origin),
        }

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> SweepOptions:
        """Return the options from the description of a sweep, without its origin.

        Raise ValueError if the description has no valid options.
        """
        settings, limit, local = (description.get(name) for name in ("settings", "limit", "local"))
        listed = isinstance(settings, list) and all(isinstance(setting, str) for setting in settings)
        limited = limit is None or (type(limit) is int and limit > 0)
        if not (listed and limited and isinstance(local, bool)):
            raise ValueError("the options of the sweep are missing or invalid")
        return cls(tuple(settings or ()), limit, local)
