"""Predictions on a terminal: columns, recommendations, shares, basis and refusals."""

from __future__ import annotations

import io
from dataclasses import replace
from math import inf

import pandas as pd
import pytest
from rich.console import Console

from hpcbench.config.pricing import Price
from hpcbench.predict.calibration.intervals import Calibration
from hpcbench.predict.choice.ratios import Candidate, Ratio
from hpcbench.predict.choice.recommendation import Compared, Recommendation, recommend
from hpcbench.predict.choice.states import UNSEEN, StateErrors
from hpcbench.predict.devices.device import Device
from hpcbench.predict.results.choices import CLOCK, BestState
from hpcbench.predict.results.table import ENERGY, OF_LIST, OF_NAME, PRICE, SOURCE, TIME
from hpcbench.report.predictor.terminal import print_predictions
from hpcbench.report.predictor.text.case_tables import kind_columns
from hpcbench.report.predictor.text.sentences import basis, best_state, recommendation
from hpcbench.report.predictor.text.summary import Wanted, bases, recommendations
from tests.report.predictor.made_predictions import made_predictions, question

GPUS = ("a100-pcie-40", "h100-sxm", "l40s")


def printed(
    width: int = 200,
    wanted: Wanted | None = None,
    states: frozenset[str] = frozenset(),
    cases: int = 1,
    devices: tuple[str, ...] = (*GPUS, "unknown-device"),
) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_predictions(made_predictions(question(cases, devices=devices)), wanted or Wanted(), states, console)
    return output_of(console)


def output_of(console: Console) -> str:
    """Return the output after its first line, which has what the models rest on."""
    output = console.file
    assert isinstance(output, io.StringIO)
    first, _, rest = output.getvalue().partition("\n\n")
    assert first == "model: fleet.json"
    return rest


def test_a_device_may_need_least_energy_in_its_default_state() -> None:
    found = best_state(BestState("l40s", CLOCK, "", Ratio(1.0, 1.0, 1.0), 1.0))
    assert found == "No lower clock of l40s is predicted to save energy."


def test_the_table_has_a_row_for_each_device_with_units_in_the_headers() -> None:
    text = printed(width=300)
    headline, _, header, row, other = text.splitlines()[:5]
    assert headline == "batch size 8"
    for name in ("device", "time (ms)", "power (W)", "energy (J)", "memory (GiB)", "throughput (images/s)", "90 % PI"):
        assert name in header
    assert row.split()[:5] == ["a100-pcie-40", "100.0", "90.9", "-", "110.0"]
    assert "price per million images (EUR)" in header
    assert "960 MHz" not in other


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits_the_terminal(width: int) -> None:
    table = printed(width).splitlines()[2:10]
    lines = [line for line in table if not line.startswith(("Inconclusive", "a100-pcie-40 is"))]
    assert max(len(line) for line in lines[:5]) <= width
    assert any("time" in line for line in lines)


def test_time_and_energy_have_recommendations_of_their_own() -> None:
    text = printed()
    assert (
        "Inconclusive: l40s may be as fast as h100-sxm. The predicted time ratio of h100-sxm to l40s is 0.95x "
        "(90 % PI 0.83 to 1.09)." in text
    )
    assert "l40s needs least energy: 24 % less energy than a100-pcie-40 (90 % PI 13 to 34 %)" in text


def test_a_recommendation_can_be_of_one_quantity() -> None:
    assert "energy:" not in printed(wanted=Wanted((TIME,)))
    assert "fastest" not in printed(wanted=Wanted((ENERGY,)))


def test_the_cheapest_device_is_named_if_prices_are_known() -> None:
    asked = question(1)
    prices = {**asked.prices, "a100-pcie-40": lambda cores: Price(1.0)}
    made = made_predictions(replace(asked, prices=prices))
    assert list(recommendations(made.results, made, Wanted((PRICE,)))) == [
        "a100-pcie-40 is cheapest: 49 % lower cost than h100-sxm (90 % PI 42 to 56 %)."
    ]
    free = made_predictions(replace(asked, prices={}))
    assert not any("cheap" in text for text in recommendations(free.results, free, Wanted()))


def test_the_best_clock_of_each_device_is_named() -> None:
    rows = [line.split() for line in printed().splitlines()]
    assert ["h100-sxm", "960", "MHz", "0.72x", "0.57", "-", "0.91", "1.20x", "less", "energy"] in rows


def test_a_clock_that_may_not_save_energy_is_inconclusive() -> None:
    made = replace(
        made_predictions(question(1)), states=StateErrors(frozenset(), {UNSEEN: Calibration(2, 0.5, {"": 1})})
    )
    text = "\n".join(recommendations(made.results, made, Wanted((ENERGY,))))
    interval = "(90 % PI 0.43 to 1.20) with 20 % more time"
    ratio = f"The predicted energy ratio of 960 MHz to the default state is 0.72x {interval}."
    assert f"Inconclusive: l40s may need as little energy in its default state as at 960 MHz. {ratio}" in text


def test_states_are_shown_if_asked_for() -> None:
    assert "a100-pcie-40 at 960 MHz" in printed(states=frozenset({"960 MHz"}))


def test_a_limit_of_an_interval_is_not_shown_as_zero() -> None:
    best, other = Candidate("a", 0.0, 0.1), Candidate("b", 0.2, 0.1)
    found = Recommendation(best, (Compared(other, Ratio(0.48, 0.23, 0.9962)),))
    assert recommendation(found, TIME) == "a is fastest: 52 % less time than b (90 % PI 0.4 to 77 %)."


def test_a_price_of_0_is_not_compared() -> None:
    free, same, dear = Candidate("a", -inf, 0.1), Candidate("b", -inf, 0.1), Candidate("c", 0.2, 0.1)
    assert recommendation(recommend([free, dear], None), PRICE) == "a costs nothing: the price of an hour is 0."
    assert recommendation(recommend([dear, same, free], None), PRICE) == (
        "a and b cost nothing: the price of an hour is 0."
    )


def test_shares_basis_and_refusals_are_printed() -> None:
    text = printed()
    rows = [line.split() for line in text.splitlines()]
    assert all([name, "gemm", "70", "%", "layer", "norm", "30", "%"] in rows for name in GPUS)
    others = "device not measured: 312 measurements of 5 devices; power from 2 other devices"
    assert f"based on: a100-pcie-40, h100-sxm: {others}" in text
    assert "based on: l40s: measured device: 60 of 312 measurements of 5 devices; power measured on it" in text
    assert "unknown-device: not predicted: description of device 'unknown-device' not found" in text
    assert "unknown-device: not compared, because it is not predicted" in text


def test_a_case_with_four_devices_fits_a_screen() -> None:
    assert len(printed(100).splitlines()) <= 40


def test_several_cases_have_titles() -> None:
    text = printed(cases=2)
    assert text.index("batch_size=8\n") < text.index("batch_size=16\n")


def test_a_device_without_room_is_marked_and_named() -> None:
    asked = question(1)
    device = Device("l40s", "nvidia", "x", 2023, 100, 1000.0, 1e13, 1.5 * 2**30, 1e12, 1e7, 300.0)
    small = replace(asked, devices={"l40s": device, "h100-sxm": replace(device, memory_bytes=3.0 * 2**30)})
    console = Console(file=io.StringIO(), width=300)
    print_predictions(made_predictions(small), Wanted(), frozenset(), console)
    text = output_of(console)
    assert [line.split()[-1] for line in text.splitlines()[2:6]] == ["fits", "compute", "maybe", "no"]
    assert "l40s: does not fit: needs about 2 GiB of memory, but the device has 1.5 GiB" in text
    assert "h100-sxm: may not fit" in text
    assert "l40s needs least energy" not in text


def test_several_cases_end_with_the_devices_over_all_of_them() -> None:
    console = Console(file=io.StringIO(), width=200)
    print_predictions(made_predictions(question(2, devices=GPUS)), Wanted(), frozenset(), console)
    text = output_of(console)
    lines = text[text.index("All devices over 2 cases") :].splitlines()
    assert lines[2].split() == [
        *("h100-sxm", "2", "cases", "0", "cases", "1.00x"),
        *("0", "cases", "0", "cases", "1.90x"),
        *("2", "cases", "0", "cases", "1.00x"),
    ]
    assert lines[3].split()[0] == "l40s"
    assert "All devices" not in printed(cases=1)


def test_cases_that_the_table_of_all_devices_leaves_out_are_mentioned() -> None:
    made = made_predictions(question(2, devices=GPUS))
    rows = made.results
    refused = (rows["case"] == "c2") & (rows["device"] == "l40s")
    third = rows[rows["case"] == "c1"].assign(case="c3")
    changed = pd.concat([rows.assign(**{TIME: rows[TIME].mask(refused)}), third])
    for results, is_mentioned in ((pd.concat([rows, third]), False), (changed, True)):
        console = Console(file=io.StringIO(), width=200)
        print_predictions(replace(made, results=results), Wanted(), frozenset(), console)
        text = output_of(console)
        assert ("Cases without a prediction on each of these devices" in text) == is_mentioned
        assert f"All devices over {2 if is_mentioned else 3} cases" in text


def _many(cases: int, width: int, devices: tuple[str, ...] = GPUS, wanted: Wanted | None = None) -> str:
    """Return the output for cases that are copies of one."""
    made = made_predictions(question(1, devices=devices))
    copies = [made.results.assign(case=f"c{each}", label=f"model=gpt2 batch_size={each}") for each in range(cases)]
    console = Console(file=io.StringIO(), width=width)
    print_predictions(replace(made, results=pd.concat(copies)), wanted or Wanted(), frozenset(), console)
    return output_of(console)


def test_many_cases_have_a_row_each() -> None:
    lines = _many(20, 100, wanted=Wanted((TIME, ENERGY))).splitlines()[2:]
    assert len(lines) < 60
    assert lines[0] == "Predicted time (ms)"
    assert lines[1].split() == ["model", "batch_size", *GPUS, "fastest"]
    assert lines[2].split() == ["gpt2", "0", "100.0", "55.0", "58.0", "inconclusive"]
    energies = lines[lines.index("Predicted energy (J)") :]
    assert energies[1].split()[-2:] == ["least", "energy"]
    assert energies[2].split() == ["gpt2", "0", "23.0", "33.0", "17.4", "l40s"]


def test_many_cases_on_one_device_have_no_recommended_device() -> None:
    lines = _many(20, 100, wanted=Wanted((TIME,)), devices=GPUS[:1]).splitlines()[2:]
    assert lines[1].split() == ["model", "batch_size", GPUS[0]]


def test_many_cases_name_what_the_files_have() -> None:
    assert "--html shows the intervals and best clocks of each case, and" in _many(20, 100)
    assert "--html shows the intervals and best clocks of the first 20 cases, and" in _many(21, 100)


def test_a_narrow_terminal_drops_the_same_devices_from_all_tables_of_many_cases() -> None:
    lines = _many(5, 55, wanted=Wanted((TIME, ENERGY))).splitlines()[2:]
    assert lines[1].split() == ["model", "batch_size", "h100-sxm", "l40s", "fastest"]
    energies = lines[lines.index("Predicted energy (J)") :]
    assert energies[1].split() == ["model", "batch_size", "h100-sxm", "l40s", "least", "energy"]
    assert lines.count("a100-pcie-40: in the files of --csv and --html") == 2


def test_a_narrow_terminal_keeps_the_fastest_device_and_that_of_least_energy() -> None:
    made = made_predictions(question(1, devices=GPUS))
    cheap = made.results["device"] == "a100-pcie-40"
    rows = made.results.assign(**{ENERGY: made.results[ENERGY].mask(cheap, 1.0)})
    copies = [rows.assign(case=f"c{each}", label=f"model=gpt2 batch_size={each}") for each in range(5)]
    console = Console(file=io.StringIO(), width=57)
    print_predictions(replace(made, results=pd.concat(copies)), Wanted((TIME, ENERGY)), frozenset(), console)
    assert output_of(console).count("l40s: in the files of --csv and --html") == 2


@pytest.mark.parametrize("width", [50, 60])
def test_a_narrow_terminal_breaks_no_name(width: int) -> None:
    made = made_predictions(question(2, devices=GPUS))
    console = Console(file=io.StringIO(), width=width)
    print_predictions(made, Wanted(), frozenset(), console)
    first = [line.split(" ")[0] for line in output_of(console).splitlines() if "," not in line]
    assert first.count("a100-pcie-40") >= 6
    assert not [word for word in first if word.startswith("a100") and word != "a100-pcie-40"]


def test_a_device_without_a_price_has_the_reason_if_others_have_one() -> None:
    asked = question(1, devices=GPUS)

    def unknown(cores: int) -> Price:
        return Price(None, "cost.core_hour is not set")

    for prices, is_mentioned in (
        ({**asked.prices, "l40s": unknown}, True),
        (dict.fromkeys(GPUS, unknown), False),
    ):
        console = Console(file=io.StringIO(), width=200)
        print_predictions(made_predictions(replace(asked, prices=prices)), Wanted(), frozenset(), console)
        assert ("l40s: price not predicted: cost.core_hour is not set" in output_of(console)) == is_mentioned


def test_prices_have_an_interval() -> None:
    header = printed(width=300).splitlines()[2]
    assert header.split("price per million images (EUR)")[1].split()[:3] == ["90", "%", "PI"]


def test_many_cases_within_a_limit_have_the_device_of_least_energy() -> None:
    lines = _many(5, 100, wanted=Wanted(within_s=0.066)).splitlines()
    energies = lines[lines.index("Predicted energy (J)") :]
    assert energies[1].split()[-5:] == ["least", "energy", "within", "66", "ms"]
    assert energies[2].split()[-1] == "l40s"


def test_notes_of_many_cases_are_counted() -> None:
    text = _many(5, 100, devices=(*GPUS, "unknown-device"))
    assert text.count("unknown-device: not predicted") == 1


def test_sentences_have_the_first_of_many_devices() -> None:
    names = tuple(f"card-{number}" for number in range(40))
    made = made_predictions(question(1))
    one = made.results[(made.results["device"] == "l40s") & (made.results["state"] == "")]
    rows = pd.concat([one.assign(device=name) for name in names])
    text = "\n".join(recommendations(rows, made, Wanted((TIME,))))
    assert text.startswith(
        "Inconclusive: card-1, card-10, card-11, card-12, card-13 and 34 others may be as fast as card-0."
    )
    assert bases(rows)[0].startswith("card-0, card-1, card-2, card-3, card-4 and 35 others: measured device")


def test_kinds_without_a_percent_of_the_time_are_not_shown() -> None:
    made = made_predictions(question(1))
    shares = pd.DataFrame(
        {"case": "c1", "device": "l40s", "kind": ["conv", "gemm", "copy"], "share": [0.99, 0.006, 0.004]}
    )
    columns = kind_columns(made.results, replace(made, shares=shares))
    assert [each.cells for each in columns] == [("l40s",), ("conv 99 %",), ("gemm 1 %",), ("",)]


@pytest.mark.parametrize(
    ("source", "is_measured", "words"),
    [
        (OF_NAME, True, "no image network measured on it: 312 measurements of image networks of 5 devices"),
        (OF_NAME, False, "device not measured: 312 measurements of image networks of 5 devices"),
        (OF_LIST, True, "device not measured: 312 measurements of 5 devices"),
    ],
)
def test_a_device_with_other_measurements_is_not_called_unmeasured(source: str, is_measured: bool, words: str) -> None:
    row = made_predictions().results.iloc[0].copy()
    row[SOURCE], row["device_measured"] = source, is_measured
    assert basis(row) == words
