"""How a sweep was requested, written and read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hpcbench.store.provenance.sweep_options import Origin, SweepOptions


def test_it_is_read_as_it_was_written() -> None:
    asked = SweepOptions(("seed=1", "matrix.nodes=[1,2]"), 3, True)
    assert SweepOptions.of(json.loads(json.dumps(asked.as_json()))) == asked


def test_it_tells_where_it_comes_from() -> None:
    told = SweepOptions(origin=Origin("s", "2026-11-22T00:00:00+00:00", "s.tar.gz")).as_json()
    assert told["from"] == {"sweep": "s", "created_at": "2026-11-22T00:00:00+00:00", "archive": "s.tar.gz"}
    assert SweepOptions.of(told) == SweepOptions(), "which is not requested again"


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"settings": "seed=1", "limit": None, "local": False},
        {"settings": [1], "limit": None, "local": False},
        {"settings": [], "limit": "3", "local": False},
        {"settings": [], "limit": True, "local": False},
        {"settings": [], "limit": 0, "local": False},
        {"settings": [], "limit": None, "local": None},
    ],
)
def test_what_does_not_tell_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the options of the sweep are missing or invalid"):
        SweepOptions.of(told)
