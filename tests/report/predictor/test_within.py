"""Devices within a limit of the time: the recommendation of a case, and the table, sentences and JSON of all cases."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest

from hpcbench.predict.results.table import ENERGY
from hpcbench.report.predictor.page import page_of_predictions
from hpcbench.report.predictor.predictions_json import predictions_json
from hpcbench.report.predictor.text.matrix import matrices
from hpcbench.report.predictor.text.overview import overview_sentences
from hpcbench.report.predictor.text.summary import Wanted, recommendations
from tests.report.predictor.made_predictions import made_predictions, question
from tests.report.predictor.test_terminal import GPUS, printed

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def sentences(limit_s: float, devices: tuple[str, ...] = GPUS, energy_of_l40s: float = 1.0) -> list[str]:
    """Return the sentences on the first case, with the energy of one device multiplied."""
    made = made_predictions(question(1, devices=devices))
    rows = made.results
    columns = [ENERGY, f"{ENERGY}_pi_low", f"{ENERGY}_pi_high"]
    changed = rows[columns].mul((rows["device"] == "l40s").map({True: energy_of_l40s, False: 1.0}), axis=0)
    return list(
        recommendations(rows.assign(**{name: changed[name] for name in columns}), made, Wanted(within_s=limit_s))
    )


def test_the_recommendation_comes_first_then_which_devices_are_within_the_limit() -> None:
    assert sentences(0.066) == [
        "Of the devices within 66 ms, l40s needs least energy: 47 % less energy than h100-sxm (90 % PI 40 to 54 %).",
        "Within 66 ms: h100-sxm, l40s.",
        "May be within 66 ms: h100-sxm at 960 MHz, l40s at 960 MHz.",
        "Not within 66 ms: a100-pcie-40 (default, 960 MHz).",
    ]


def test_an_inconclusive_result_within_a_limit_is_one_sentence() -> None:
    assert sentences(0.066, energy_of_l40s=1.8)[0] == (
        "Inconclusive among the devices within 66 ms: h100-sxm may need as little energy as l40s. "
        "The predicted energy ratio of l40s to h100-sxm is 0.95x (90 % PI 0.83 to 1.09)."
    )


def test_the_only_device_within_a_limit_is_recommended() -> None:
    first, *others = sentences(0.061)
    assert first == "h100-sxm is recommended: only this device has its whole 90 % PI within 61 ms."
    assert "May be within 61 ms: h100-sxm at 960 MHz, l40s." in others


def test_a_limit_that_no_interval_meets_has_no_recommendation() -> None:
    first, *others = sentences(0.055)
    assert first == "No device is recommended: none has its whole 90 % PI within 55 ms."
    assert not any(each.startswith("Within") for each in others)


def test_without_the_energy_of_other_devices_within_the_limit_none_is_recommended() -> None:
    first = sentences(0.066, energy_of_l40s=float("nan"))[0]
    assert first == "No device is recommended: of the devices within 66 ms, only the energy of h100-sxm is predicted."


def test_the_best_device_and_clock_within_a_limit_are_named() -> None:
    assert sentences(0.2) == [
        (
            "Of the devices within 200 ms, l40s at 960 MHz needs least energy: "
            "24 % less energy than a100-pcie-40 at 960 MHz (90 % PI 13 to 34 %)."
        ),
        (
            "l40s needs least energy at 960 MHz: "
            "28 % less energy (90 % PI 9 to 43 %) and 20 % more time than in its default state."
        ),
        "Within 200 ms: a100-pcie-40 (default, 960 MHz), h100-sxm (default, 960 MHz), l40s (default, 960 MHz).",
    ]


def test_a_single_device_is_not_recommended() -> None:
    assert sentences(0.066, ("l40s",)) == ["Within 66 ms: l40s.", "May be within 66 ms: l40s at 960 MHz."]


def test_the_terminal_has_the_sentences() -> None:
    assert "Of the devices within 66 ms, l40s needs least energy" in printed(wanted=Wanted(within_s=0.066))


def test_the_table_of_all_cases_counts_those_within_the_limit() -> None:
    text = printed(wanted=Wanted(within_s=0.13), cases=2, devices=GPUS)
    lines = text[text.index("All devices over 2 cases") :].splitlines()
    assert lines[1].split() == ["device", "within", "130", "ms", "of", "these,", "least", "energy", "conclusive"]
    assert [line.split() for line in lines[2:5]] == [
        ["h100-sxm", "2", "cases", "0", "cases", "0", "cases"],
        ["l40s", "2", "cases", "2", "cases", "2", "cases"],
        ["a100-pcie-40", "1", "case", "0", "cases", "0", "cases"],
    ]
    assert lines[6].startswith("A device is within 130 ms if its whole 90 % PI is. A case counts as least energy")
    assert "lowest time" not in text


@pytest.mark.parametrize(
    ("limit_s", "sentence", "details"),
    [
        (
            0.13,
            "Least energy within 130 ms: l40s in 2 of 2 cases; conclusive in all.",
            ("Within 130 ms: h100-sxm in 2 of 2 cases, l40s in 2, a100-pcie-40 in 1.",),
        ),
        (0.04, "No device has its whole 90 % PI within 40 ms in any of 2 cases.", ()),
    ],
)
def test_the_page_has_the_cases_within_the_limit(limit_s: float, sentence: str, details: tuple[str, ...]) -> None:
    pytest.importorskip("altair")
    page = page_of_predictions(made_predictions(question(2, devices=GPUS)), Wanted(within_s=limit_s), [], NOON)
    first = page.headlines[0]
    assert (first.sentence, first.details[: len(details)]) == (sentence, details)
    assert page.aggregates is not None
    table = page.aggregates.tables[0]
    assert table.title == "All devices over 2 cases"
    assert table.columns[1].title == f"within {limit_s * 1000:.0f} ms"


def test_many_devices_within_a_limit_are_the_first_in_a_sentence() -> None:
    made = made_predictions(question(2, devices=("h100-sxm",)))
    rows = pd.concat([made.results.assign(device=f"card-{number}") for number in range(6)])
    found = overview_sentences(replace(made, results=rows), Wanted(within_s=0.13))
    assert found == [
        (
            "Within 130 ms: "
            "card-0 in 2 of 2 cases, card-1 in 2, card-2 in 2, card-3 in 2, and 2 other devices in at most 2."
        )
    ]


def test_json_has_the_cases_of_each_device() -> None:
    made = made_predictions(question(2, devices=GPUS))
    found = json.loads(predictions_json(made, Wanted(within_s=0.13)))["overview"]
    names = ("device", "within", "lowest", "conclusive", "does_not_fit")
    assert found["cases"] == 2
    assert [tuple(each[name] for name in names) for each in found["devices"]] == [
        ("h100-sxm", 2, 0, 0, 0),
        ("l40s", 2, 2, 2, 0),
        ("a100-pcie-40", 1, 0, 0, 0),
    ]
    usual = json.loads(predictions_json(made, Wanted((ENERGY,))))["overview"]["devices"]
    assert usual[1] == {
        "device": "l40s",
        "energy_j": {"lowest": 2, "conclusive": 2, "ratio": 1.0},
        "does_not_fit": 0,
    }


def test_the_table_of_many_cases_has_no_device_whose_energy_alone_is_known() -> None:
    made = made_predictions(question(1, devices=("h100-sxm", "l40s")))
    rows = made.results
    unknown = rows.assign(**{ENERGY: rows[ENERGY].mask(rows["device"] == "l40s")})
    best = [
        [each.columns[-1].cells for each in matrices(replace(made, results=results), wanted, frozenset())][-1]
        for results in (rows, unknown)
        for wanted in (Wanted(within_s=0.066), Wanted(within_s=0.061))
    ]
    assert best == [("l40s",), ("h100-sxm",), ("-",), ("h100-sxm",)]
