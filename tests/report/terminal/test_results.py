"""The table on a terminal: units, order, width, and data that stays data."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, Literal

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.quantities import ACCURACY, BEST_ACCURACY, ENERGY, PRICE, QUANTITIES
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.quantiles import PERCENTILES
from hpcbench.report.terminal.results import print_report
from hpcbench.report.text.numbers import duration
from hpcbench.report.text.text_columns import Column, as_table

MakeCases = Callable[..., pd.DataFrame]
CANDIDATES = [
    "sweep",
    "framework",
    "framework_version",
    "model",
    "execution",
    "batch_size",
    "nodes",
    "intra_op_threads",
]


def printed(
    cases: pd.DataFrame,
    width: int = 200,
    candidates: list[str] | None = None,
    *,
    color: bool = False,
    top: int = 40,
    metric: str = "time_median_s",
) -> str:
    """What a console shows that is made as the commands make theirs."""
    file = io.StringIO()
    system: Literal["standard"] | None = "standard" if color else None
    console = Console(file=file, width=width, highlight=False, force_terminal=color, color_system=system)
    shown = telling_apart(cases, CANDIDATES if candidates is None else candidates)
    nothing = pd.DataFrame({"sweep": cases["sweep"]})
    print_report(Results(nothing, cases, QUANTITIES[metric], shown, Replicates({})), top, console)
    return file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.234, "1.23 s"),
        (0.0291, "29.1 ms"),
        (4.56e-6, "4.56 us"),
        (7.5e-8, "75 ns"),
        (12.0, "12 s"),
        (0.5, "500 ms"),
        (123.4, "123 s"),
        (3600.0, "3600 s"),
    ],
)
def test_a_duration_has_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_name_of_a_column_is_no_markup() -> None:
    file = io.StringIO()
    columns = [Column(name, ("1",)) for name in ("[/red]", "[link=https://example.org]nodes")]
    Console(file=file, width=80).print(as_table(columns))
    assert "[/red]" in file.getvalue()
    assert "[link=https://example.org]nodes" in file.getvalue()


UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@given(st.floats(1e-9, 999.0))
@example(0.9996)
@example(9.996e-4)
@example(9.996e-7)
@example(1.0)
def test_a_duration_has_three_digits_and_a_number_that_can_be_read(seconds: float) -> None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) (s|ms|us|ns)", duration(seconds))
    assert match, duration(seconds)
    number, unit = match.groups()
    assert 1 <= float(number) < 1000
    assert len(number.replace(".", "").strip("0") or "0") <= 3
    assert float(number) * UNITS[unit] == pytest.approx(seconds, rel=0.0051)


@given(st.floats(1e-9, 1e5), st.floats(1e-9, 1e5))
def test_a_longer_duration_never_reads_as_a_shorter_one(first: float, second: float) -> None:
    def value(seconds: float) -> float:
        number, unit = duration(seconds).split()
        return float(number) * UNITS[unit]

    low, high = sorted((first, second))
    assert value(low) <= value(high) * (1 + 1e-9)


def test_a_row_has_time_interval_throughput_speedup_and_repetitions(make_cases: MakeCases) -> None:
    text = printed(make_cases({"nodes": 1}, {"nodes": 2, "time_median_s": 1.5, "speedup": 0.02}))
    row = next(line for line in text.splitlines() if "29.1  " in line)
    assert re.search(r"29\.1 +28\.8 - 29\.6 +1,099\.7 +1\.00x +3\b", row)
    assert "1,500.0" in text
    assert "0.02x" in text
    assert "1,234,567 parameters" in text


def test_cases_are_printed_in_the_order_in_which_they_come(make_cases: MakeCases) -> None:
    text = printed(make_cases(*({"nodes": nodes} for nodes in (30, 10, 20))))
    assert re.findall(r"^\s*(\d0) ", text, re.MULTILINE) == ["30", "10", "20"]


def test_only_the_columns_that_tell_cases_apart_are_shown(make_cases: MakeCases) -> None:
    text = printed(make_cases({"nodes": 1}, {"nodes": 2}))
    header = next(line for line in text.splitlines() if "95 % CI" in line)
    assert header.split() == ["nodes", "step", "time", "(ms)", "95", "%", "CI", "samples/s", "speedup", "n"]


def test_only_the_first_rows_are_shown_and_it_is_said_how_many_more_there_are(make_cases: MakeCases) -> None:
    rows: list[dict[str, Any]] = [{"nodes": nodes} for nodes in range(1, 8)]
    text = printed(make_cases(*rows), top=3)
    assert re.findall(r"^\s*(\d) +29\.1 ", text, re.MULTILINE) == ["1", "2", "3"]
    assert re.findall(r"and (\d) more", text) == ["4"]
    assert "more" not in printed(make_cases(*rows), top=7)


def test_what_failed_for_one_reason_is_told_in_one_line(make_cases: MakeCases) -> None:
    rows: list[dict[str, Any]] = [{"nodes": nodes, "status": "failed"} for nodes in range(1, 6)]
    rows += [{"nodes": 6, "status": "timeout", "error": "too slow"}]
    text = printed(make_cases(*rows))
    assert "failed 5 cases (nodes=1; nodes=2; nodes=3; ...): it broke (log: jobs/" in text
    assert text.index("failed 5") < text.index("timeout nodes=6: too slow")


def test_of_many_reasons_the_most_frequent_are_told_and_how_many_cases_are_left(make_cases: MakeCases) -> None:
    rows = [{"nodes": nodes, "status": "failed", "error": f"reason {'abcdefg'[nodes % 7]}"} for nodes in range(13)]
    text = printed(make_cases(*rows))
    assert len(re.findall("^failed ", text, re.MULTILINE)) == 4
    assert "... and 5 more for other reasons" in text


def test_a_case_without_an_interval_or_a_speedup_leaves_them_empty(make_cases: MakeCases) -> None:
    text = printed(make_cases({"time_ci_low_s": None, "time_ci_high_s": None, "speedup": None}))
    assert "29.1 ms" in text
    assert "nan" not in text.lower()
    assert "none" not in text.lower()


def test_cases_of_different_work_stand_in_tables_of_their_own_and_it_is_said_why(make_cases: MakeCases) -> None:
    text = printed(make_cases({}, {"model": "lstm", "parameter_count": 99}))
    assert "mlp training float32 pytorch cpu, batch size 32, 1,234,567 parameters" in text
    assert "lstm training float32 pytorch cpu, batch size 32, 99 parameters" in text
    assert re.search(r"ranked separately.*model, parameter_count", text)


def test_cases_of_equal_work_are_not_said_to_be_ranked_apart(make_cases: MakeCases) -> None:
    assert "separately" not in printed(make_cases({"nodes": 1}, {"nodes": 2}))


def test_what_did_not_complete_is_listed_with_its_reason(make_cases: MakeCases) -> None:
    text = printed(make_cases({"nodes": 1}, {"nodes": 2, "status": "timeout", "error": "stopped after 60 s"}))
    assert "timeout nodes=2: stopped after 60 s" in text
    assert len(re.findall("29.1  ", text)) == 1


def test_what_has_not_run_has_no_reason_and_no_log(make_cases: MakeCases) -> None:
    planned = {"nodes": 2, "status": "planned", "error": None, "log": None}
    text = printed(make_cases({"nodes": 1, "status": "failed"}, planned))
    assert "planned nodes=2\n" in text
    assert "nan" not in text


def test_a_title_is_on_one_line_however_narrow_its_table(make_cases: MakeCases) -> None:
    text = printed(make_cases({"model": "lstm"}), width=40)
    assert "lstm training float32 pytorch cpu, batch size 32, 1,234,567 parameters" in text.splitlines()


@pytest.mark.parametrize(("verdict", "said"), [("clean", "2 left out"), ("interference", "2 used")])
def test_what_others_disturbed_is_counted_beside_what_is_shown(make_cases: MakeCases, verdict: str, said: str) -> None:
    header, first, second = printed(make_cases({"interference_runs": 2, "interference": verdict}, {})).splitlines()[2:5]
    assert header.split()[-2:] == ["n", "interference"]
    assert first.split("1.00x")[1].split() == ["3", *said.split(), "##########"]
    assert second.split("1.00x")[1].split() == ["3", "##########"]


def test_a_bar_says_how_good_a_case_is_beside_the_best(make_cases: MakeCases) -> None:
    text = printed(make_cases({"nodes": 2}, {"nodes": 1, "time_median_s": 0.0582}))
    assert [line.count("#") for line in text.splitlines() if "28.8 - 29.6" in line] == [10, 5]


@pytest.mark.parametrize(("repetitions", "said"), [(1, True), (3, False), (5, False), (6, True)])
def test_where_autocorrelated_samples_narrow_an_interval_less_it_is_said(
    make_cases: MakeCases, repetitions: int, said: bool
) -> None:
    text = printed(make_cases({"runs": repetitions, "effective_measurements": 7}, {"runs": repetitions}))
    assert ("measurements of 1 case are autocorrelated" in text) == said


def test_a_step_too_short_for_the_clock_has_no_throughput(make_cases: MakeCases) -> None:
    text = printed(make_cases({"time_median_s": 0.0, "throughput_items_per_s": None, "speedup": None}))
    assert re.search(r"0 ns +28\.8 ms - 29\.6 ms +- +3\b", text)


def test_a_single_case_that_failed_has_no_name(make_cases: MakeCases) -> None:
    assert "failed: it broke" in printed(make_cases({"status": "failed"}))


def test_a_case_of_which_only_some_repetitions_completed_is_in_both_places(make_cases: MakeCases) -> None:
    cases = make_cases({"nodes": 1}, {"nodes": 2})
    cases.loc[1, ["status", "error"]] = ["failed", "it broke"]
    text = printed(cases)
    assert "failed nodes=2: it broke" in text
    assert len(re.findall("29.1  ", text)) == 2


def test_a_long_error_is_not_cut_off(make_cases: MakeCases) -> None:
    error = "word " * 100 + "end"
    assert error in printed(make_cases({"status": "failed", "error": error}), width=80)


DATA = [
    "[red]",
    "[/red]",
    "[bold]x[/bold]",
    "[link=http://x]y[/link]",
    "\\[red]",
    "[1, 2]",
    "C:\\",
    ":warning: x",
    "a:bug:b",
]


@pytest.mark.parametrize("color", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("data", DATA)
def test_text_in_an_error_is_printed_as_it_is(make_cases: MakeCases, data: str, color: bool) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed(make_cases({"status": "failed", "error": data}), color=color))
    assert f": {data} (log: " in text


@pytest.mark.parametrize("data", DATA)
def test_text_in_a_column_is_printed_as_it_is(make_cases: MakeCases, data: str) -> None:
    cases = make_cases({"param_kind": data}, {"param_kind": "plain"}, {"param_kind": data, "status": "failed"})
    text = printed(cases, candidates=["param_kind"])
    assert sum(line.strip().startswith(data) for line in text.splitlines()) == 1
    assert f"failed kind={data}: it broke" in text


@pytest.mark.parametrize("data", ["[red]", "[/]", "a:bug:b"])
def test_text_in_a_title_is_printed_as_it_is(make_cases: MakeCases, data: str) -> None:
    assert f"mlp training float32 {data} cpu" in printed(make_cases({"framework": data}))


def test_a_pipe_gets_no_control_characters(make_cases: MakeCases) -> None:
    text = printed(make_cases({"nodes": 1}, {"nodes": 2, "status": "failed"}))
    assert "\x1b" not in text


def many_columns(make_cases: MakeCases, count: int) -> tuple[pd.DataFrame, list[str]]:
    columns: dict[str, list[Any]] = {
        "sweep": ["lstm-threads-20261101-120000", "lstm-threads-20261102-120000"],
        "batch_size": [16, 128],
        "nodes": [1, 16],
        "intra_op_threads": [1, 64],
        "execution": ["eager", "compiled"],
        "inter_op_threads": [1, 64],
        "cpus_per_task": [1, 64],
        "strategy": ["ddp", "fsdp"],
        "tasks_per_node": [1, 4],
    }
    names = list(columns)[:count]
    return make_cases(*({name: columns[name][row] for name in names} for row in range(2))), names


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 9])
def test_eighty_columns_are_enough_for_the_time(make_cases: MakeCases, count: int) -> None:
    cases, names = many_columns(make_cases, count)
    text = printed(cases, width=80, candidates=names)
    assert max(map(len, text.splitlines())) <= 80
    assert len(re.findall(r"29\.1  ", text)) == 2


def test_inference_shows_its_tail_where_it_is_known(make_cases: MakeCases) -> None:
    inference = {"task": "inference", "time_p99_s": 0.0345}
    text = printed(make_cases({**inference, "nodes": 1}, {**inference, "nodes": 2, "time_p99_s": None}), width=80)
    assert re.search(r"29\.6 +34\.5 +1,099\.7", text)
    assert re.search(r"29\.6 +- +1,099\.7", text)
    assert " p99 " in text
    assert "p99" not in printed(make_cases({**inference, "task": "training"}))
    assert "p99" not in printed(make_cases({**inference, "time_p99_s": None}))


def test_no_word_is_broken_for_a_tail_that_nobody_asked_for(make_cases: MakeCases) -> None:
    cases, names = many_columns(make_cases, 3)
    cases = cases.assign(task="inference", time_p99_s=0.0345)
    assert "p99" not in printed(cases, width=80, candidates=names)
    assert "p99" in printed(cases, width=120, candidates=names)
    assert "34.5 ms" in printed(cases, width=80, candidates=names, metric="time_p99_s")


@pytest.mark.parametrize("metric", sorted(QUANTITIES))
def test_the_metric_that_the_cases_are_ranked_by_can_be_seen(make_cases: MakeCases, metric: str) -> None:
    cases = make_cases({"nodes": 1, "peak_memory_bytes": 3 * 2**30}, {"nodes": 2, "peak_memory_bytes": 5 * 2**30})
    cases["time_median_s"], cases["speedup"], cases["throughput_items_per_s"] = [0.3, 0.5], [3.0, 5.0], [30.0, 50.0]
    if metric in (PRICE.column, ENERGY.column, ACCURACY.column, BEST_ACCURACY.column):
        cases["time_median_s"], cases[metric] = [0.1, 0.1], [3.0, 5.0]
    if metric in PERCENTILES:
        cases["time_median_s"], cases[metric] = [0.1, 0.1], [0.3, 0.5]
    lines = [line for line in printed(cases, metric=metric).splitlines() if re.match(r" *[12]  ", line)]
    assert re.search(r"\b3(00)?(\.0+)?x? |\b30\.0", lines[0])


@pytest.mark.parametrize("width", [60, 70, 80, 90, 100])
def test_a_speedup_is_never_without_its_interval(make_cases: MakeCases, width: int) -> None:
    limits = {"speedup_ci_low": 1.9, "speedup_ci_high": 2.1}
    rows = [{"nodes": n, "execution": f"mode-{n}", "speedup": 2.0, **limits} for n in (1, 2)]
    text = printed(make_cases(*rows), width=width, candidates=["nodes", "execution"])
    assert ("2.00x" in text) == ("1.90x - 2.10x" in text)


def test_unmonitored_runs_that_count_instead_of_disturbed_ones_are_named(make_cases: MakeCases) -> None:
    text = printed(make_cases({"interference_runs": 4, "unmonitored": 1, "runs": 1, "interference": "unmonitored"}, {}))
    assert "4 left out, 1 unmonitored" in text


def test_workloads_with_one_case_share_a_table_without_speedups_and_bars(make_cases: MakeCases) -> None:
    names = [f"timm/net{number}" for number in range(5)]
    cases = make_cases(*({"model": name, "parameter_count": 1000 + place} for place, name in enumerate(names)))
    cases["speedup_base"] = None  # as with --baseline-case
    text = printed(cases, candidates=["model"])
    assert "no other case to compare with" not in text
    title, header, *rows = text.splitlines()[:7]
    assert title == "study: training float32 pytorch cpu, batch size 32, one case per workload"
    assert header.split() == ["model", "step", "time", "(ms)", "95", "%", "CI", "images/s", "n"]
    assert [row.split()[0] for row in rows] == names
