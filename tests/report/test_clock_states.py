"""Clock states in a report: on a terminal, on the page, as JSON and in captions; all numbers are made up."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from hpcbench.analysis.results import Results
from hpcbench.report.charts.operators import figures_of_operators
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.profiles_json import clock_states_json, profiles_json
from hpcbench.report.html import operators as page
from hpcbench.report.html.operators import operators_of
from hpcbench.report.terminal.operators import MAX_PROFILES, print_operators
from hpcbench.report.text.profiles.clock_states import DEFAULT_ONLY
from tests.operator_tables import operator_rows
from tests.report.synthetic_results import HOSTILE, results, threads

RELU = {"kind": "relu", "calls_per_step": 2, "stream_s": 0.001, "flops": 10**6, "bytes_moved": 10**6}
POWER = {"power_w": 100.0, "power_uncertainty_w": 2.0}


def step(mhz: int | None, time_s: float, joules: float | None = None, **changes: Any) -> dict[str, Any]:
    """The row of the whole step at a clock, with a CI of 1 % and an uncertainty of 2 %."""
    measured = {"hot_s": time_s, "hot_low_s": 0.99 * time_s, "hot_high_s": 1.01 * time_s}
    energy = {} if joules is None else {"energy_per_call_j": joules, "energy_uncertainty_j": 0.02 * joules, **POWER}
    state = {"requested_clock_mhz": mhz, "clock_method": "frequency limits" if mhz else None}
    clock = {"cpu_clock_mhz": float(mhz or 2500), "clock_moved": mhz == 1080}
    return {"kind": "network", "operator": "network", **state, **measured, **energy, **clock, **changes}


STATES = step(None, 0.010, 1.0), step(1080, 0.030, 1.2), step(2040, 0.015, 0.9)


def profiled(*rows: dict[str, Any], of: int = 1) -> Results:
    """The results of so many cases, each with these rows, and with an operator in the default state and at 1080 MHz."""
    found = results(*(threads(place + 1) for place in range(max(of, 2))), repetitions=1, samples=1)
    found = replace(found, cases=found.cases.assign(cpu_model="a CPU", physical_cores_per_task=1, cpus_per_task=1))
    rows = (*rows, RELU, {**RELU, "kind": "gemm", "requested_clock_mhz": 1080})
    cases = found.cases.head(of)
    its = [{**row, "sweep": one["sweep"], "case": one["case"]} for _, one in cases.iterrows() for row in rows]
    return replace(found, operators=operator_rows(*its))


def printed(found: Results, width: int = 300) -> str:
    file = io.StringIO()
    print_operators(found, Console(file=file, width=width))
    return file.getvalue()


def test_the_terminal_shows_time_power_and_energy_by_state_and_the_best_ones() -> None:
    text = printed(profiled(*STATES))
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("clock states of ")
    assert ["default", "-", "2,500", "10.00", "9.90", "-", "10.10", "100.0", "1.000", "0.980", "-", "1.020"] in lines
    assert lines[3][:5] == ["1080", "MHz", "frequency", "limits", "1,080*"]
    assert "Fastest: default, 10 ms per step (95 % CI 9.9 ms - 10.1 ms, n = 1)." in text
    assert "Least energy: 2040 MHz, 0.9 J per step (95 % CI 0.882 J - 0.918 J, n = 1)." in text
    assert "*: the clock moved by more than 2 % in the power window, or in the measurement of the step." in text


def test_overlapping_intervals_are_inconclusive() -> None:
    text = printed(profiled(step(None, 0.0101, 0.91), step(1080, 0.030, 1.2), step(2040, 0.010, 0.9)))
    assert "Fastest: inconclusive, since the intervals of 2040 MHz, default overlap." in text
    assert "Least energy: inconclusive, since the intervals of 2040 MHz, default overlap." in text


def test_without_energy_there_is_the_reason() -> None:
    text = printed(profiled(step(None, 0.01, power_reason="no access to RAPL"), step(1080, 0.03)))
    assert "Energy by state: not measured (no access to RAPL)." in text
    assert "J per step" not in text


def test_the_tables_of_operators_are_of_the_default_state_and_say_so() -> None:
    found = profiled(*STATES)
    text = printed(found)
    assert DEFAULT_ONLY in text
    assert text.count("operators of ") == 1
    assert "gemm" not in text
    assert all(figure.caption.endswith(DEFAULT_ONLY) for figure in figures_of_operators(found))
    assert {each["device_state"] for each in profiles_json(found)} == {None, "1080 MHz", "2040 MHz"}


def test_a_report_with_one_state_is_as_before() -> None:
    found = profiled(step(None, 0.01))
    text = printed(replace(found, operators=found.operators[found.operators["requested_clock_mhz"].isna()]))
    assert "clock" not in text
    assert DEFAULT_ONLY not in text


def test_the_page_has_a_table_of_the_states() -> None:
    section = operators_of(profiled(*STATES))
    assert section is not None
    assert DEFAULT_ONLY in section.about
    states, *operators = section.tables
    assert states.title.startswith("Clock states of ")
    assert [row.cells[0] for row in states.places] == ["default", "1080 MHz", "2040 MHz"]
    assert "Least energy: 2040 MHz" in states.note
    assert len(operators) == 2


def test_json_has_the_states_and_the_best_ones() -> None:
    (case,) = clock_states_json(profiled(*STATES))
    assert (case["fastest"], case["least_energy"]) == (["default"], ["2040 MHz"])
    assert [each["requested_clock_mhz"] for each in case["states"]] == [None, 1080, 2040]
    slow = case["states"][1]
    assert [slow[f"step_time_s{end}"] for end in ("", "_low", "_high")] == pytest.approx([0.03, 0.0297, 0.0303])
    assert [slow[f"power_w{end}"] for end in ("", "_low", "_high")] == [100, 98, 102]
    assert (slow["clock_mhz"], slow["clock_moved"], slow["clock_method"]) == (1080, True, "frequency limits")
    json.loads(json_text({"clock_states": [case]}))


def test_many_cases_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "and 2 more cases with clock states" in printed(profiled(*STATES, of=MAX_PROFILES + 2))
    monkeypatch.setattr(page, "MAX_PROFILES", 2)
    section = page.operators_of(profiled(*STATES, of=3))
    assert section is not None
    assert section.about.endswith(" The first 2 of 3 profiles. The first 2 of 3 cases with clock states.")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:30])
def test_whatever_a_node_has_written_can_be_shown(text: str) -> None:
    huge = step(2**40, 1e300, 1e300, clock_method=text, power_reason=text)
    found = profiled(step(None, 1e-300, power_reason=text), huge)
    shown = printed(found)
    assert not any(ord(character) < 32 and character != "\n" for character in shown)
    assert operators_of(found) is not None
    json_text({"states": clock_states_json(found)})
