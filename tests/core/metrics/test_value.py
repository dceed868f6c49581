"""Numbers found in a text: by pattern, JSON path and CSV column; and what is said where there is none."""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.metrics import Metric
from hpcbench.core.metrics import value as metrics
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.syntax import path_steps
from hpcbench.core.metrics.units import differ
from hpcbench.core.metrics.value import value_of


def spec(**given: Any) -> dict[str, Any]:
    """A metric as a sweep's description holds it."""
    return Metric.model_validate(given).model_dump(mode="json")


def found(text: str, **given: Any) -> float:
    value: float = value_of(spec(**given), [text], "the output")["value"]
    return value


RATES = "epoch 1 rate: 10.5\nnoise\nepoch 2 rate: 30\nepoch 3 rate: 2e1 \n"


@pytest.mark.parametrize(
    ("reduce", "value"),
    [
        ("last", 20.0),
        ("first", 10.5),
        ("mean", 60.5 / 3),
        ("median", 20.0),
        ("max", 30.0),
        ("sum", 60.5),
        ("min", 10.5),
    ],
)
def test_several_matches_are_reduced_as_asked(reduce: str, value: float) -> None:
    assert found(RATES, regex=r"rate: (?P<value>\S+)", reduce=reduce) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("rate: 900 MB/s", "MB/s"),
        ("rate: 1.5GB", "GB"),
        ("rate: 1 s, rate: 2 ms", "ms"),
        ("rate: 1.2 k samples/s", "k samples/s"),
        ("rate: 5 loss: 3", None),
        ("rate: 5 s: 3", None),
        ("rate: 5 apples", None),
        ("rate: 5", None),
    ],
)
def test_the_unit_after_the_last_number_is_kept(text: str, unit: str | None) -> None:
    made = value_of(spec(regex=r"rate: ([0-9.]+)", reduce="last"), [text], "the output")
    assert made.get("printed_unit") == unit


@pytest.mark.parametrize(("reduce", "unit"), [("first", "MB/s"), ("last", "GB/s"), ("max", "MB/s, GB/s")])
def test_the_units_of_the_numbers_that_count_are_kept(reduce: str, unit: str) -> None:
    text = "rate: 900 MB/s, rate: 1.2 GB/s"
    assert value_of(spec(regex=r"rate: ([0-9.]+)", reduce=reduce), [text], "the output")["printed_unit"] == unit


def test_a_unit_that_the_pattern_matches_is_not_kept() -> None:
    made = value_of(spec(regex=r"(?P<value>[0-9.]+) (?P<unit>\w+/s)", unit="MB/s"), ["1.5 GB/s"], "the output")
    assert (made["value"], "printed_unit" in made) == (1500.0, False)


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (["MB/s", "GB/s"], True),
        (["it/s", "s/it"], True),
        (["samples/s", "k samples/s"], True),
        (["MB/s", "MB/s"], False),
        (["images/s", "images/sec"], False),
        (["MB/s", "s"], False),
        (["s", "MB", "ms"], True),
        ([], False),
    ],
)
def test_units_of_one_quantity_differ_if_a_number_would_change(units: list[str], expected: bool) -> None:
    assert differ(units) == expected


def test_numbers_whose_sum_no_float_holds_fail() -> None:
    with pytest.raises(MetricError, match="`reduce: sum` is impossible: intermediate overflow"):
        found("x=1e308|\nx=1e308|", regex=r"x=(.*)\|", reduce="sum")
    with pytest.raises(MetricError, match="`reduce: sum` is impossible: -inf"):
        found("x=1e308 h|\nx=-1e308 h|", regex=r"x=(?P<value>\S+) (?P<unit>h)", unit="ns", reduce="sum")


@pytest.mark.parametrize("text", ["7", "+7", "7.", "7.0", "70e-1", ".7E1", " 7 "])
def test_a_number_is_a_number_however_it_is_written(text: str) -> None:
    assert found(f"x={text}|", regex=r"x=(.*)\|") == 7.0


@pytest.mark.parametrize("text", ["1_000", "0x10", "7 ms", "", "--", "٣", "1,2,3", "1,23.4", "1.2.3"])
def test_what_is_no_number_fails_and_is_shown(text: str) -> None:
    with pytest.raises(MetricError) as caught:
        found(f"x={text}|", regex=r"x=(?P<value>.*)\|")
    assert str(caught.value) == f"the pattern 'x=(?P<value>.*)\\|' in the output: '{text}' is not a number"


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("some\nnothing here\n\n", "which ends: nothing here"),
        ("x" * 99, "which ends: " + "x" * 60),
        ("\n", "which is empty"),
    ],
)
def test_no_match_is_an_error_that_names_metric_pattern_and_place_and_shows_the_end(text: str, ends: str) -> None:
    with pytest.raises(MetricError) as caught:
        found(text, regex="r: (.)")
    assert str(caught.value) == f"the pattern 'r: (.)' was not found in the output, {ends}"


def test_two_matches_without_reduce_are_an_error_that_shows_them() -> None:
    with pytest.raises(MetricError) as caught:
        found("r: 1\nr: 2.5\n", regex="r: ([0-9.]+)")
    assert "was found 2 times in the output: 1, 2.5; set `reduce`" in str(caught.value)


def test_a_group_that_took_no_part_in_the_match_is_no_number() -> None:
    with pytest.raises(MetricError, match="is not a number"):
        found("r: \n", regex="r: (?P<value>[0-9]+)?")


def test_a_pattern_matches_at_the_beginning_and_end_of_each_line() -> None:
    assert found("x 1\n2\n3 y\n", regex="^([0-9])$") == 2.0


def test_the_texts_of_all_ranks_are_searched() -> None:
    made = value_of(spec(regex="r: (.)", reduce="sum"), ["r: 1", "r: 2"], "the output")
    assert (made["value"], made["count"], made["values"]) == (3.0, 2, [1.0, 2.0])


@pytest.mark.parametrize(
    ("printed", "value"), [("2.5 us", 2.5), ("900 ns", 0.9), ("3 ms", 3000.0), ("0.001 s", 1000.0), ("4 µs", 4.0)]
)
def test_a_time_in_whatever_unit_becomes_one_in_the_metrics_own(printed: str, value: float) -> None:
    assert found(f"Median: {printed}", regex=r"Median: (?P<value>\S+) (?P<unit>\S+)", unit="us") == pytest.approx(value)


def test_a_unit_of_another_quantity_is_an_error() -> None:
    with pytest.raises(MetricError, match="'MB' cannot be converted to 's'"):
        found("took 3 MB", regex=r"took (?P<value>\S+) (?P<unit>\S+)", unit="s")


DOCUMENT = '{"runs": [{"rate": 1.5}, {"rate": 2.5, "odd.key": "3"}], "n": 4, "deep": [[5]], "no": null, "yes": true}'


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("n", 4.0),
        ("$.n", 4.0),
        ("runs[0].rate", 1.5),
        ("runs[-1].rate", 2.5),
        ("runs[*].rate", 4.0),
        ("runs[1]['odd.key']", 3.0),
        ('runs[1]["odd.key"]', 3.0),
        ("deep[0][0]", 5.0),
        ("$['deep'][0][*]", 5.0),
    ],
)
def test_a_json_path_leads_to_numbers(path: str, value: float) -> None:
    assert found(DOCUMENT, json=path, reduce="sum") == value


@pytest.mark.parametrize("path", ["m", "n.x", "n[0]", "runs[2].rate", "runs[-3].rate", "runs.rate", "deep.x"])
def test_a_json_path_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(MetricError, match=re.escape(f"the JSON path '{path}' was not found in the output")):
        found(DOCUMENT, json=path)


@pytest.mark.parametrize(("path", "shown"), [("no", "null"), ("yes", "true"), ("runs", r"\[\{"), ("deep[0]", r"\[5\]")])
def test_what_lies_at_a_path_must_be_a_number(path: str, shown: str) -> None:
    with pytest.raises(MetricError, match=f"'{shown}.*' is not a number"):
        found(DOCUMENT, json=path)


def test_json_may_stand_on_lines_of_its_own_between_others() -> None:
    text = 'starting\n{"loss": 3.0}\n{"other": 1}\n[warn] low memory\n{cut off\n  {"loss": 0.5}\ndone 7\n'
    assert found(text, json="loss", reduce="last") == 0.5


def test_a_json_line_that_is_cut_off_is_an_error() -> None:
    with pytest.raises(MetricError, match=r"a JSON object is truncated or invalid: \{\"loss\": 0\.2"):
        found('{"loss": 0.5}\n{"loss": 0.2\n', json="loss", reduce="sum")


def test_a_json_document_over_several_lines_is_one() -> None:
    assert found('{\n "a": {\n  "b": 2\n }\n}\n', json="a.b") == 2.0


@pytest.mark.parametrize("text", ['{"loss": NaN}', '{"loss": -Infinity}', "{'loss': nan}", '{"loss": 1e999}'])
def test_a_number_that_is_not_finite_is_no_value(text: str) -> None:
    with pytest.raises(MetricError, match="the JSON path 'loss' in the output has a value that is not finite"):
        found(text, json="loss")


def test_a_number_that_is_not_finite_does_not_count_for_a_reduction_that_does_not_use_it() -> None:
    text = "loss: nan\nloss: inf\nloss: 0.5\n"
    made = value_of(spec(regex="loss: (.*)", reduce="last"), [text], "the output")
    assert (made["value"], made["count"], made["values"]) == (0.5, 3, [0.5])
    for reduce in ("first", "mean", "median", "max", "min", "sum"):
        with pytest.raises(MetricError, match="not finite"):
            found(text, regex="loss: (.*)", reduce=reduce)


@pytest.mark.parametrize("path", ["", ".a", "a..b", "a.", "a[", "a[x]", "a[1.5]", "[']", "a]", "a[*"])
def test_what_is_no_path_is_refused(path: str) -> None:
    if path == "":
        assert path_steps(path) == []
    else:
        with pytest.raises(ValueError, match="is not a path such as"):
            path_steps(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_column_of_csv_is_found_by_its_header(delimiter: str) -> None:
    rows = [["step", "rate (it/s)", "note"], ["1", "10", "a"], ["2", "", "b"], ["3", "30.5", "c"]]
    text = "banner\n\n" + "\n".join(delimiter.join(row) for row in rows) + "\n\n"
    assert found(text, csv="rate (it/s)", reduce="sum") == 40.5


def test_quoted_cells_may_hold_commas_and_line_breaks() -> None:
    assert found('name,rate\n"a, b\nc",5\n', csv="rate") == 5.0


def test_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(MetricError, match="the column 'rat' was not found"):
        found("step,rate\n1,2\n", csv="rat")


@pytest.mark.parametrize("row", ["3", "3,4.5,6", "3,4.5,note,end", '"3,\n4,5'])
def test_a_row_of_another_length_is_an_error_and_not_a_shorter_table(row: str) -> None:
    with pytest.raises(MetricError, match=r"a row has \d cells, its header has 2: "):
        found(f"step,rate\n1,2\n{row}\n", csv="rate")


@pytest.mark.parametrize("line", ["that was all", ':::MLLOG {"key": "a", "value": 1, "time_ms": 2}', "saved: a, b, c"])
def test_other_output_within_a_table_of_csv_is_skipped(line: str) -> None:
    assert found(f"step,rate\n1,2\n{line}\n3,4\n{line}\n", csv="rate", reduce="sum") == 6


@pytest.mark.parametrize(
    ("unit", "said", "better"),
    [
        ("it/s", None, "higher"),
        ("us", None, "lower"),
        ("h", None, "lower"),
        ("W", None, None),
        ("", None, None),
        ("it/s", "lower", "lower"),
        ("W", "lower", "lower"),
        ("s", "higher", "higher"),
    ],
)
def test_which_way_is_better_is_said_or_follows_from_the_unit(unit: str, said: str | None, better: str | None) -> None:
    assert value_of(spec(regex="(.)", unit=unit, better=said), ["1"], "the output")["better"] == better


def test_a_record_holds_the_first_thousand_values_and_says_how_many_there_were() -> None:
    made = value_of(spec(regex="([0-9]+)", reduce="max"), ["\n".join(map(str, range(5000)))], "the output")
    assert (made["value"], made["count"], len(made["values"])) == (4999.0, 5000, metrics.KEPT)


def test_a_cell_too_long_for_a_reader_of_csv_is_an_error_like_any_other() -> None:
    with pytest.raises(MetricError, match="the column 'a'"):
        found("a\n" + "9" * 200_000 + "\n", csv="a")


@given(st.text(max_size=200), st.sampled_from([{"regex": "(.+)"}, {"json": "a[*].b"}, {"csv": "a"}, {"mllog": "a"}]))
def test_whatever_a_program_prints_gives_a_number_or_a_metric_error(text: str, way: dict[str, str]) -> None:
    with contextlib.suppress(MetricError):
        assert math.isfinite(found(text, **way, reduce="last"))
