"""The history on a terminal: the trend, the words of a change, and data that stays data."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from hpcbench.analysis.cases.quantities import TIME, Quantity
from hpcbench.analysis.stats.two_samples import Ratio
from hpcbench.analysis.studies.history import CaseHistory, Point, Shift
from hpcbench.report.export.history_json import history_json
from hpcbench.report.terminal.history import History, history_table, print_history, size


def point(number: int, value: float | None = 0.01, **changes: Any) -> Point:
    usual = Point(
        sweep=f"sweep-{number}",
        started_at=f"2026-01-{number + 1:02}T00:00:00+00:00",
        case="case-0",
        status="completed",
        error=None,
        value=value,
        low=None,
        high=None,
        runs=3,
        interference_runs=0,
        work=(),
        on_gpus=False,
        facts={},
    )
    return usual._replace(**changes)


def shift(ratio: float = 1.12, word: str = "slower", limits: tuple[float | None, float | None] = (1.1, 1.14)) -> Shift:
    return Shift("case-0", point(0), point(1), Ratio(ratio, *limits, 1e-9, 1e-4), 1e-6, word, {})


def history(*points: Point, shifts: tuple[Shift, ...] = (), **changes: Any) -> History:
    found = CaseHistory("case-0", list(points), [each for each in points if each.value is not None], [])
    sweeps = [each.sweep for each in points]
    cases = pd.DataFrame([{"case": "case-0", "note": "[red]größer[/red]\x1b[2J"}])
    made = {"experiment": "nightly", "site": "here", "sweeps": sweeps, "quantity": TIME}
    return History(
        **{**made, "histories": [found], "shifts": list(shifts), "cases": cases, "shown": ["note"], **changes}
    )


def printed(shown: History, *, terminal: bool = False, encoding: str = "utf-8", width: int = 80, top: int = 40) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    settings: dict[str, Any] = {"force_terminal": terminal, "color_system": None, "_environ": {"TERM": "xterm"}}
    print_history(shown, top, Console(file=file, width=width, **settings))
    file.seek(0)
    return file.read()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 2.0], "▁█"),
        ([1.0, 1.5, 2.0], "▁▅█"),
        ([1.0] * 30 + [3.0] * 10, "▁" * 15 + "█" * 5),  # medians of two each
        ([1.0], "▅"),
        ([1.0, 1.001], "▄▅"),  # a tenth of a per cent does not look like much
        ([0.0, 0.0], "▄▄"),
    ],
)
def test_a_trend(values: list[float], shown: str) -> None:
    made = history(*(point(number, value) for number, value in enumerate(values)))
    assert f" {shown}\n" in printed(made, terminal=True)


def test_the_trend_has_blocks_on_a_terminal_that_can_and_plain_letters_elsewhere() -> None:
    made = history(point(0), point(1, 0.02))
    assert "▁█" in printed(made, terminal=True)
    assert "_#" in printed(made)
    ascii_labels = pd.DataFrame([{"case": "case-0", "note": "plain"}])
    made = history(point(0), point(1, 0.02), cases=ascii_labels)
    assert "_#" in printed(made, terminal=True, encoding="ascii")


def test_where_there_is_no_room_the_latest_value_its_ratio_and_the_trend_stay() -> None:
    narrow = history(point(0), point(1, 0.02), cases=pd.DataFrame([{"case": "case-0", "note": "n" * 20}]))

    def headings(width: int) -> list[list[str]]:
        return [line.split() for line in printed(narrow, width=width).splitlines()[1:3]]

    assert headings(60) == [["first", "latest"], ["note", "sweeps", "(ms)", "(ms)", "ratio", "trend"]]
    assert headings(42) == [["latest"], ["note", "(ms)", "ratio", "trend"]]
    assert headings(36) == [["latest"], ["note", "(ms)", "ratio"]]


def test_values_have_the_unit_of_their_heading_and_the_same_decimals() -> None:
    lines = printed(history(point(0), point(1, 0.0123))).splitlines()
    assert lines[1].split()[-6:] == ["first", "(ms)", "latest", "(ms)", "ratio", "trend"]
    assert lines[2].split()[-4:-1] == ["10.0", "12.3", "1.230"]


def test_values_of_a_metric_have_its_unit_in_the_title_and_no_ratio_where_one_is_not_above_zero() -> None:
    rate = Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)
    lines = printed(history(point(0, 12345.6), point(1, 0.0), quantity=rate)).splitlines()
    assert lines[0].endswith("on, rate (it/s)")
    assert lines[2].split()[-4:-1] == ["12,346", "0", "-"]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (shift(), "1.12x [1.10, 1.14] slower"),
        (shift(0.8, "faster", (0.78, 0.83)), "1.25x [1.20, 1.28] faster"),
        (shift(0.8, "slower", (0.78, 0.83)), "1.25x [1.20, 1.28] slower"),  # of a throughput
        (shift(0.8, "worse", (0.78, 0.83)), "0.80x [0.78, 0.83] as much, worse"),
        (shift(0.8, "", (0.78, 0.83)), "0.80x [0.78, 0.83] as much"),
        (shift(1.12, "slower", (None, None)), "1.12x slower"),
    ],
)
def test_a_change_in_words(made: Shift, words: str) -> None:
    assert size(made) == words


def test_a_change_has_its_day_sweep_case_and_what_is_beside_it() -> None:
    changed = {"torch": ("2.5.1", "2.6.0"), "git_commit": ("0123456789abcdef", "fedcba9876543210")}
    made = history(point(0), point(1), shifts=(shift()._replace(also_changed=changed),))
    told = printed(made, width=200)
    assert "2026-01-02 sweep-1 note=[red]größer[/red]" in told
    assert "also changed: torch 2.5.1 -> 2.6.0, git_commit 0123456789 -> fedcba9876" in told


def test_a_case_that_failed_last_and_one_that_is_gone_are_told() -> None:
    made = history(point(0), point(1, None, status="timeout", error=None))
    assert "timeout note=" in printed(made)
    made = history(point(0), sweeps=["sweep-0", "sweep-9"])
    assert "not in the latest sweep, sweep-9: note=" in printed(made)
    assert made.got_worse == []


def test_only_the_latest_change_of_a_case_that_is_still_measured_counts_as_worse() -> None:
    latest_first = (shift(0.9, "faster"), shift())
    assert history(point(0), point(1), shifts=latest_first).got_worse == []
    assert history(point(0), point(1), shifts=latest_first[::-1]).got_worse == [shift()]
    assert history(point(0), point(1), shifts=(shift(),), sweeps=["sweep-2"]).got_worse == []


def test_more_than_the_top_is_said() -> None:
    made = history(point(0), point(1), shifts=(shift(),) * 3)
    assert "... and 2 more changes: show all with --top" in printed(made, top=1)


def test_numbers_that_json_has_not_are_null() -> None:
    made = history(point(0), point(1, None, high=np.inf), shifts=(shift(limits=(0.0, np.inf)),))
    assert '"ratio_ci_high": null' in history_json(made)
    assert history_table(made)["is_change"].tolist() == [False, True]


def test_a_change_over_runs_with_interference_says_so() -> None:
    noisy = shift()._replace(interference_runs=5)
    assert size(noisy) == "1.12x [1.10, 1.14] slower (interference in all runs of 5 values next to the change)"
