"""Predictions in the documents of a report; none of these numbers was measured."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hpcbench.analysis.predicted.columns import TIME
from hpcbench.analysis.results import Results
from hpcbench.core.record import Record
from hpcbench.report.export.latex_markdown import markdown
from hpcbench.report.export.report_json import report_json
from hpcbench.report.html.build_page import Origin, page_of
from hpcbench.report.html.page_model import Page
from hpcbench.report.html.render import render
from hpcbench.report.load.predictions import with_predictions
from hpcbench.report.load.results import results_of
from hpcbench.report.terminal.results import print_report
from hpcbench.store.predictions import (
    SCHEMA,
    CasePrediction,
    Estimate,
    PredictedDevice,
    SweepPredictions,
    to_text,
)
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths, Workspace

DEVICE = PredictedDevice("my-node", "cpu", ["my-node", "a CPU"], "doctor")
MODEL = "Models of fleet.json, fitted on 60 rows of 2 devices"
MakeResults = Callable[..., Results]


def prediction(place: int, time: float | None = 0.2, device: str = "my-node", **more: Any) -> CasePrediction:
    """A prediction of a case whose measured time is 0.2 s, with limits of half and twice the value."""
    case = f"{place:012x}"
    if time is None:
        return CasePrediction(case, "", **more)
    return CasePrediction(case, "", device, Estimate(time, time / 2, time * 2), **more)


@pytest.fixture
def predicted(make_record: Callable[..., Record], tmp_path: Path) -> MakeResults:
    """The results of cases with these predictions; each has the median 0.2 s, and the batch size 8, 16, 32, ..."""

    def make(*predictions: CasePrediction, text: str = "", **parameters: Any) -> Results:
        records = [
            make_record(place, parameters={"batch_size": 8 * 2**place, **parameters})
            for place in range(len(predictions))
        ]
        return with_predictions(results_of(records), [Sweep(_paths(tmp_path, predictions, text), {})])

    return make


def _paths(
    folder: Path, predictions: Sequence[CasePrediction], text: str, device: PredictedDevice = DEVICE
) -> SweepPaths:
    paths = Workspace(folder).paths("sweep-1")
    paths.jobs.mkdir(parents=True)
    now = "2026-11-30T00:00:00+00:00"
    found = SweepPredictions(SCHEMA, now, "0.1.0", MODEL, "a" * 64, "b" * 64, [device], predictions)
    paths.predictions.write_text(text or to_text(found))
    return paths


def printed(results: Results, width: int = 200) -> str:
    file = io.StringIO()
    print_report(results, 40, Console(file=file, width=width))
    return file.getvalue()


def page(results: Results) -> Page:
    return page_of(results, [], [], Origin([], [], [], datetime.now(UTC)))


THREE = (prediction(0), prediction(1, 0.05), prediction(2, None, reason="its operators were not listed"))


def test_the_ranking_has_predicted_next_to_measured_times(predicted: MakeResults) -> None:
    text = printed(predicted(*THREE))
    assert "predicted (ms)" in text
    assert "measured / predicted" in text
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()[:2] in ("8 ", "16", "32")}
    assert "200" in rows["8"]
    assert "100.0 - 400.0" in rows["8"]
    assert "1.00x" in rows["8"]
    assert "50.0 " in rows["16"]
    assert "4.00x (above PI)" in rows["16"]
    assert rows["32"].split("1.00x")[1].split()[4:6] == ["-", "-"]


def test_sentences_name_the_model_the_cases_outside_and_those_without_a_prediction(predicted: MakeResults) -> None:
    text = printed(predicted(*THREE))
    assert f"Predictions for my-node were made before the measurements. {MODEL}." in text
    assert "The measured step time is inside its 90 % PI in 1 of 2 cases." in text
    assert "The median factor between measured and predicted values is 2.00x." in text
    outside = "Outside the 90 % PI: batch_size=16: step time 4.00x the prediction, 200 ms (90 % PI 25 ms - 100 ms)"
    assert outside in text
    assert "Not predicted: 1 case: its operators were not listed" in text


def test_peaks_measured_under_load_are_named(make_record: Callable[..., Record], tmp_path: Path) -> None:
    paths = _paths(tmp_path, [prediction(0)], "", replace(DEVICE, peaks_under_load=True))
    results = with_predictions(results_of([make_record(0)]), [Sweep(paths, {})])
    assert "my-node: peaks measured under load: the predicted time may be too long" in printed(results)
    assert json.loads(report_json(results, [], []))["predictions"]["sweeps"][0]["devices_under_load"] == ["my-node"]


def test_a_deviation_with_a_known_condition_has_no_guesses(predicted: MakeResults) -> None:
    guess = "Possible causes that records do not show"
    assert guess in printed(predicted(prediction(0, 0.05)))


def test_a_known_condition_is_named_with_the_deviation(predicted: MakeResults) -> None:
    text = printed(predicted(prediction(0, 0.05), intra_op_threads=8, cpus_per_task=8))
    assert "; 4 threads in effect instead of 8" in text
    assert "Possible causes" not in text


def test_cases_with_interference_can_be_measured_again(make_record: Callable[..., Record], tmp_path: Path) -> None:
    records = [make_record(0, interference={"verdict": "interference"}), make_record(1, parameters={"batch_size": 64})]
    paths = _paths(tmp_path, [prediction(0, 0.05), prediction(1)], "")
    text = printed(with_predictions(results_of(records), [Sweep(paths, {})]))
    assert "; all runs had interference" in text
    assert "Measure the cases with interference again: hpcbench resume sweep-1 --interference" in text
    assert "Possible causes" not in text


def test_of_many_deviations_the_largest_are_named(predicted: MakeResults) -> None:
    text = printed(predicted(*(prediction(place, 0.08 / (place + 1)) for place in range(7))))
    named = [line for line in text.splitlines() if line.startswith("Outside the 90 % PI")]
    assert [words in line for words, line in zip(("17.5x", "15.0x", "12.5x", "10.0x", "7.50x"), named, strict=True)]
    assert "17.5x the prediction" in named[0]
    assert "... and 2 more values outside: --csv or --html FILE" in text


def test_a_case_on_another_device_is_not_compared(make_record: Callable[..., Record], tmp_path: Path) -> None:
    paths = _paths(tmp_path, [prediction(0, 0.05), prediction(1, 0.05, "l4")], "")
    results = results_of([make_record(0), make_record(1, parameters={"batch_size": 64})])
    of_another = replace(results, cases=results.cases.assign(cpu_model="another CPU"))
    found = with_predictions(of_another, [Sweep(paths, {})])
    verdicts = dict(zip(found.cases["predicted_device"], found.cases[TIME.verdict], strict=True))
    assert verdicts == {"my-node": "other device", "l4": "above"}, "the names of the L4 are unknown"
    text = printed(found)
    assert "Not compared: 1 case predicted on my-node, but measured on another CPU." in text
    assert "in 0 of 1 case." in text
    assert "4.00x (other device)" in text


def test_the_page_lists_values_outside_their_interval_first(predicted: MakeResults) -> None:
    whole = page(predicted(*THREE))
    found = whole.predictions
    assert found is not None
    assert MODEL in found.about
    (table,) = found.tables
    assert [row.cells[-2] for row in table.places] == ["above", "inside", "not predicted"]
    assert table.places[0].cells[:7] == (
        *("batch_size=16", "my-node", "step time", "200 ms", "50 ms", "25 ms - 100 ms", "4.00x"),
    )
    assert table.places[2].cells[-1] == "its operators were not listed"
    assert any("in 1 of 2 cases" in notice for notice in whole.notices)
    in_table = {column.key: (column.title, column.kind, column.shown) for column in whole.table.columns}
    assert in_table["predicted_time_s"] == ("predicted time", "time", True)
    assert in_table["predicted_time_s_pi_low"] == ("predicted time pi low", "time", False)
    html = render(whole)
    assert '<a href="#predictions">Predictions</a>' in html
    assert '<section id="predictions"' in html


def test_power_and_energy_are_compared_if_they_were_measured(
    make_record: Callable[..., Record], tmp_path: Path
) -> None:
    estimates = {"power_w": Estimate(50.0, 40.0, 60.0), "energy_j": Estimate(10.0, 5.0, 20.0)}
    paths = _paths(tmp_path, [prediction(0, **estimates)], "")
    results = results_of([make_record(0)])
    without = with_predictions(results, [Sweep(paths, {})])
    measured = results.cases.assign(energy_cpu_j_per_item=0.75)  # 32 items in 0.2 s
    found = with_predictions(replace(results, cases=measured), [Sweep(paths, {})])
    assert "power" not in printed(without)
    assert "The measured power is inside its 90 % PI in 0 of 1 case." in printed(found)
    assert "Outside the 90 % PI: power 2.40x the prediction, 120 W (90 % PI 40 W - 60 W)" in printed(found)
    for each, quantities in ((without, ["step time"]), (found, ["power", "energy per step", "step time"])):
        section = page(each).predictions
        assert section is not None
        assert [row.cells[2] for row in section.tables[0].places] == quantities


def test_json_and_papers_have_the_predictions(predicted: MakeResults) -> None:
    results = predicted(*THREE)
    document = json.loads(report_json(results, [], []))
    (sweep,) = document["predictions"]["sweeps"]
    assert sweep["sweep"] == "sweep-1"
    assert (sweep["model"], sweep["model_sha256"], sweep["data_hash"]) == (MODEL, "a" * 64, "b" * 64)
    assert any("4.00x the prediction" in text for text in document["predictions"]["text"])
    by_batch = {case["batch_size"]: case for case in document["cases"]}
    assert [by_batch[size]["predicted_time_s"] for size in (8, 16, 32)] == [0.2, 0.05, None]
    assert [by_batch[size]["predicted_time_verdict"] for size in (8, 16, 32)] == ["inside", "above", None]
    assert by_batch[32]["prediction_reason"] == "its operators were not listed"
    assert "measured / predicted" in markdown(results, 40)


@pytest.mark.parametrize("width", [160, 100, 80, 65])
def test_predictions_are_printed_on_terminals_of_any_width(width: int, predicted: MakeResults) -> None:
    text = printed(predicted(*THREE), width)
    table = text[: text.index("Predictions for ")]
    assert "25.0 - 100.0" in table
    assert "4.00x (above PI)" in table
    assert max(map(len, table.splitlines()[2:])) <= width


def test_a_damaged_file_is_left_out_with_a_warning(predicted: MakeResults, capsys: pytest.CaptureFixture[str]) -> None:
    results = predicted(prediction(0), text="{}")
    assert "predicted_time_s" not in results.cases
    assert "predictions.json: the predictions of the sweep cannot be read" in capsys.readouterr().err.replace("\n", " ")
    assert "rediction" not in printed(results)
    document = json.loads(report_json(results, [], []))
    assert document["predictions"] == {"sweeps": [], "text": []}


def test_cases_that_were_not_measured_keep_their_predictions(
    make_record: Callable[..., Record], tmp_path: Path
) -> None:
    records = [make_record(0), make_record(1, status="failed", parameters={"batch_size": 64})]
    paths = _paths(tmp_path, [prediction(0, None, reason="odd"), prediction(1)], "")
    results = with_predictions(results_of(records), [Sweep(paths, {})])
    text = printed(results)
    assert "Not predicted: 1 case: odd" in text
    assert page(results).predictions is not None
