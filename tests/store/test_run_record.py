from collections.abc import Callable

import pytest

from hpcbench.core.record import Record
from hpcbench.store.run_record import RunRecord, run_record


def test_a_run_record_is_what_its_constructor_makes(make_record: Callable[..., Record]) -> None:
    record = make_record()
    made = run_record(record, attempt=2, attempts=3)
    assert made == RunRecord(**{**vars(record), "attempt": 2, "attempts": 3})
    assert run_record(made, currency="EUR") == RunRecord(**{**vars(made), "currency": "EUR"})
    with pytest.raises(AttributeError):
        made.attempts = 4  # type: ignore[misc]
