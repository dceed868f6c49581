"""Published times in the documents of a report; none of these numbers was measured."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from hpcbench.analysis.cases.published import with_published_times
from hpcbench.analysis.results import Results
from hpcbench.core.record import Record
from hpcbench.models.operators.catalog import operator_of
from hpcbench.report.export.latex_markdown import markdown
from hpcbench.report.export.report_json import report_json
from hpcbench.report.html.build_page import Origin, page_of
from hpcbench.report.load.published import Published, with_published
from hpcbench.report.load.results import results_of
from hpcbench.report.terminal.results import print_report

MakeResults = Callable[..., Results]
GEMM = {"m": 8, "n": 4, "k": 2, "b_trans": True}
CELL = {"hidden": 16, "batch": 2, "timesteps": 3}
TIMES = {
    "published_ms_NV_1_Float": {(operator_of("gemm", GEMM), "forward", 1): 1234.5},
    "published_ms_B_16_bit": {
        (operator_of("gemm", GEMM), "backward_inputs", 1): 1.5,
        (operator_of("lstm_cell", CELL), "both", 1): 2.5,
    },
    "published_ms_C_Float": {(operator_of("gru_cell", CELL), "both", 1): 3.5},
}


@pytest.fixture
def with_times(make_record: Callable[..., Record]) -> MakeResults:
    """The results of these operators, phases and sizes, with TIMES."""

    def make(*cases: tuple[str, str, Mapping[str, Any]], network: bool = False) -> Results:
        operators = [
            {"task": "operator", "model": None, "operator": name, "phase": phase, "sizes": dict(sizes)}
            for name, phase, sizes in cases
        ]
        parameters = [*operators, *([{"model": "mlp"}] if network else [])]
        records = [make_record(index, parameters=each) for index, each in enumerate(parameters)]
        return with_published(results_of(records), Published("times.csv", TIMES))

    return make


def columns(results: Results) -> dict[str, list[Any]]:
    cases = results.cases.sort_values("case_index")
    found = [name for name in cases if name.startswith("published")]
    return {name: cases[name].astype(object).where(cases[name].notna(), None).tolist() for name in found}


def printed(results: Results, width: int) -> str:
    file = io.StringIO()
    print_report(results, 40, Console(file=file, width=width))
    return file.getvalue()


def test_times_are_matched_by_operator_phase_and_sizes(with_times: MakeResults) -> None:
    found = with_times(
        ("gemm", "forward", GEMM),
        ("gemm", "backward_inputs", GEMM),
        ("gemm", "backward_weights", GEMM),
        ("gemm", "forward", {**GEMM, "b_trans": False}),
        ("gemm", "forward", {**GEMM, "a_trans": False}),  # the default
        ("lstm_cell", "both", CELL),
        ("rnn_cell", "both", CELL),
        network=True,
    )
    assert columns(found) == {
        "published_ms_NV_1_Float": [1234.5, None, None, None, 1234.5, None, None, None],
        "published_ms_B_16_bit": [None, 1.5, None, None, None, 2.5, None, None],
    }


def test_times_of_all_reduce_are_those_of_the_same_number_of_tasks() -> None:
    operator = {"operator": "all_reduce", "sizes": '{"floats": 9}', "phase": "forward"}
    tasks = [{**operator, "nodes": nodes, "tasks_per_node": each} for nodes, each in ((1, 2), (2, 1), (2, 2))]
    times = {"published_ms_A": {(operator_of("all_reduce", {"floats": 9}), "forward", 2): 0.5}}
    found = with_published_times(pd.DataFrame(tasks), times)["published_ms_A"]
    assert found.astype(object).where(found.notna(), None).tolist() == [0.5, 0.5, None]


def test_the_report_has_a_column_per_device_and_precision_and_their_source(with_times: MakeResults) -> None:
    found = with_times(("gemm", "forward", GEMM), ("gemm", "backward_inputs", GEMM), ("gemm", "both", GEMM))
    note = "Published times of 2 of 3 cases are from times.csv."
    text = printed(found, 300)
    assert "published NV 1 Float (ms)  published B 16 bit (ms)" in text
    assert "1,234.500" in text
    assert note in text
    page = page_of(found, [], [], Origin([], [], [], datetime.now(UTC)))
    assert "published NV 1 Float (ms)" in [heading.title for heading in page.rankings[0].columns]
    in_table = {column.key: (column.title, column.unit) for column in page.table.columns}
    assert in_table["published_ms_NV_1_Float"] == ("published NV 1 Float", "ms")
    assert any(note in notice for notice in page.notices)
    document = json.loads(report_json(found, [], []))
    assert document["published"][0].startswith(note)
    assert [case["published_ms_NV_1_Float"] for case in document["cases"]].count(None) == 2
    assert "published B 16 bit" in markdown(found, 40)


@pytest.mark.parametrize("width", [160, 100, 75, 65, 50])
def test_published_times_are_printed_on_terminals_of_any_width(width: int, with_times: MakeResults) -> None:
    text = printed(with_times(("gemm", "forward", GEMM), ("gemm", "backward_inputs", GEMM)), width)
    table = text[: text.index("Published times")]
    assert "1,234.500" in table
    assert " 1.500" in table
    assert "100 - 300" in table
    assert "backward_inputs" in table
    _, *rows, _ = table.splitlines()  # without the title, and the sentence on workloads
    assert max(map(len, rows)) <= width


def test_published_times_of_many_devices_are_in_tables_below(make_record: Callable[..., Record]) -> None:
    operator = {"task": "operator", "model": None, "operator": "gemm", "sizes": GEMM}
    phases = ("forward", "backward_inputs")
    records = [make_record(index, parameters={**operator, "phase": each}) for index, each in enumerate(phases)]
    times = {
        f"published_ms_{device}_Float": {(operator_of("gemm", GEMM), "forward", 1): 1000.5 + index}
        for index, device in enumerate("ABCDEFGHIJ")
    }
    found = with_published(results_of(records), Published("times.csv", times))
    table = printed(found, 80).partition("Published times")[0]
    assert [f"{1000.5 + index:,.3f}" in table for index in range(10)] == [True] * 10
    assert table.count("backward_inputs") >= 3, "each table identifies the cases"
    assert max(map(len, table.splitlines()[2:])) <= 80


def test_a_report_without_a_match_names_what_must_match(with_times: MakeResults) -> None:
    found = with_times(("gemm", "forward", {"m": 3}), network=True)
    assert columns(found) == {}
    assert "No case has a published time in times.csv. Operator, sizes and phase must match." in printed(found, 200)


def test_a_report_without_published_times_does_not_mention_them(make_record: Callable[..., Record]) -> None:
    found = with_published(results_of([make_record()]), None)
    assert "ublished" not in printed(found, 200)
    assert json.loads(report_json(found, [], []))["published"] == []
