"""When a sweep stops because its programs fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from hpcbench.commands.options.failure_options import failure_options
from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.start_rules import failure_limit
from hpcbench.core.start_rules.failure_limit import NO_LIMIT, FailureLimit

Failed = Callable[..., None]
ERROR = {"type": "exit", "message": "no fuel", "last_lines": []}


@pytest.fixture
def failed(make_planned: Callable[..., PlannedRun], make_record: Callable[..., Record], tmp_path: Path) -> Failed:
    def note(number: int, *, is_first: bool = False, status: str = "failed") -> None:
        planned = make_planned(number)._replace(is_first=is_first)
        failure_limit.note(planned, make_record(number, status=status, error=ERROR), str(tmp_path))

    return note


@pytest.mark.parametrize(
    ("limit", "first", "later", "why"),
    [
        (NO_LIMIT, 1, 5, None),
        (FailureLimit(fail_fast=True), 0, 5, None),
        (FailureLimit(fail_fast=True), 1, 0, "the first run failed: no fuel"),
        (FailureLimit(max_failures=3), 1, 1, None),
        (FailureLimit(max_failures=3), 1, 2, "3 runs failed (--max-failures 3)"),
        (FailureLimit(True, 2), 0, 2, "2 runs failed (--max-failures 2)"),
    ],
)
def test_a_limit_is_reached_by_the_first_run_or_a_number_of_runs(
    limit: FailureLimit, first: int, later: int, why: str | None, failed: Failed, tmp_path: Path
) -> None:
    failure_limit.begin(limit, str(tmp_path))
    for number in range(first + later):
        failed(number, is_first=number < first)
        failed(number, is_first=number < first)  # of the same run, as after a requeue
    assert failure_limit.reached(str(tmp_path)) == why


@pytest.mark.parametrize(
    "status", ["completed", "out_of_memory", "timeout", "node_failure", "unsupported", "cancelled"]
)
def test_only_failures_of_the_program_count(status: str, failed: Failed, tmp_path: Path) -> None:
    failure_limit.begin(FailureLimit(True, 1), str(tmp_path))
    failed(0, is_first=True, status=status)
    assert failure_limit.reached(str(tmp_path)) is None


def test_the_help_states_that_a_failed_validation_counts(
    make_planned: Callable[..., PlannedRun], make_record: Callable[..., Record], tmp_path: Path
) -> None:
    failure_limit.begin(FailureLimit(fail_fast=True), str(tmp_path))
    record = make_record(0, status="failed", error={**ERROR, "type": "validation"})
    failure_limit.note(make_planned(0)._replace(is_first=True), record, str(tmp_path))
    assert failure_limit.reached(str(tmp_path)) == "the first run failed: no fuel"
    command = click.command(failure_options(lambda: None))
    (option,) = (each for each in command.params if each.name == "fail_fast")
    assert "A failed validation counts as a failure of the program." in getattr(option, "help", "")


def test_a_new_beginning_forgets_the_failures(failed: Failed, tmp_path: Path) -> None:
    failure_limit.begin(FailureLimit(True), str(tmp_path))
    failed(0, is_first=True)
    failure_limit.begin(FailureLimit(True), str(tmp_path))
    assert failure_limit.reached(str(tmp_path)) is None
    failure_limit.begin(NO_LIMIT, str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_damaged_limit_stops_nothing(failed: Failed, tmp_path: Path) -> None:
    failure_limit.begin(FailureLimit(True), str(tmp_path))
    failed(0, is_first=True)
    (tmp_path / failure_limit.FOLDER / "limit.json").write_text("{")
    assert failure_limit.reached(str(tmp_path)) is None
