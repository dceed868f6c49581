"""Threads in three ways on a terminal, on the page and in figures."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import in_brackets
from hpcbench.analysis.studies.guideline_transfer import guideline_test
from hpcbench.analysis.studies.threads import contexts_of
from hpcbench.core.frameworks import DYNAMIC
from hpcbench.report.charts import threads as charts
from hpcbench.report.charts.figures import chosen
from hpcbench.report.charts.theme import AS_FILE
from hpcbench.report.html.threads import threads_of
from hpcbench.report.terminal.threads import columns_of, gains, print_threads, sentences
from hpcbench.report.text.numbers import between
from tests.report.synthetic_results import HOSTILE, USER_PARAMETER, case, results, shape, threads


@pytest.fixture(scope="module")
def study() -> Results:
    return shape("threads by way")


def printed(found: Results, width: int = 300, top: int = 40) -> str:
    file = io.StringIO()
    print_threads(found, top, Console(file=file, width=width))
    return file.getvalue()


def cells_of(found: Results) -> dict[str, tuple[str, ...]]:
    """By header; of the intervals, the last."""
    return {column.header: column.cells for column in columns_of(contexts_of(found), guideline_test(found))}


def test_a_row_for_each_context_has_the_ways_their_gains_and_what_they_beat(study: Results) -> None:
    cells = cells_of(study)
    assert cells["network"] == ("wide output",) * 3 + ("stacked",) * 3 + ("narrow",) * 3
    assert cells["batch size"] == ("1", "16", "64") * 3
    assert cells["fixed threads"] == ("4 intra",) * 6 + ("2 intra",) * 3
    assert set(cells["dynamic beats"]) == {"100 %"}
    assert cells["guideline beats, of none and fixed"][:6] == ("-",) * 6, "the other two networks agree on no rule"
    gain = contexts_of(study)[0].gains["none", DYNAMIC].estimate
    assert cells["dynamic over none"][0] == f"{gain:.2f}x"
    assert not any("J per step" in header for header in cells)


def test_sentences_tell_the_gains_over_all_contexts_and_what_they_rest_on(study: Results) -> None:
    both, dynamic, fixed = gains(study)
    assert both.startswith("Threads, dynamic over none: 1.")
    certain = "the median of 9 contexts; significantly faster in 9, significantly slower in 0"
    assert both.endswith(f"{certain}; if there were no difference, about 0.23 of each would be due to chance.")
    assert dynamic.startswith("Threads, dynamic over best fixed: 1.2")
    assert fixed.startswith("Threads, best fixed over none: 1.0")
    guideline, luck, energy = sentences(study)
    assert guideline.startswith("The guideline of the other networks (intra_op_threads = 4) beats ")
    of_what = " of the other configurations without dynamic threads (median over 3 contexts of 1 network)."
    assert f"{of_what} It is within 2 % of the best of these in 0 contexts (" in guideline
    assert guideline.endswith("For 2 networks, no rule held on the others.")
    assert luck == "The time of the best fixed setting is from runs that did not choose it."
    assert energy == "The energy of a step is unknown: not measured (no sensor)."


def test_contexts_in_which_noise_hides_what_the_guideline_costs_are_counted(
    study: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = guideline_test(study)
    assert test is not None
    hidden, clear, cost = (
        test.followed[0]._replace(slower=slower, is_within=is_within)
        for slower, is_within in ((1.05, True), (1.01, True), (1.05, False))
    )
    changed = test._replace(followed=(hidden, clear, cost))
    monkeypatch.setattr("hpcbench.report.terminal.threads.guideline_test", lambda results: changed)
    guideline, *_ = sentences(study)
    assert "of the best of these in 2 contexts (" in guideline
    assert "), in 1 of them within the noise. For 2 networks" in guideline


def test_how_many_repetitions_kept_a_schedule_is_said() -> None:
    own = {"cpus_per_task": 4}
    found = results(case(0.1, threads="dynamic", **own), case(0.2, **own), repetitions=3)
    said = [sentence for sentence in sentences(found) if "kept a schedule" in sentence]
    assert said == []  # these tell nothing of it
    found.repetitions["threads_kept"] = ["schedule", "fixed", "fixed", None, None, None]
    found.repetitions["threads_kept_why"] = [None, "no change is worth it", "no change is worth it", None, None, None]
    (said,) = [sentence for sentence in sentences(found) if "kept a schedule" in sentence]
    assert said == (
        "With dynamic threads, 1 of 3 runs kept a schedule; the others kept the best single count, 2 of them "
        "for this reason: no change is worth it."
    )


def test_dynamic_threads_that_mostly_kept_what_nobody_set_are_said_to_be_the_same_setting() -> None:
    own = {"cpus_per_task": 4, "effective_intra_op_threads": 4}
    found = results(case(0.1, threads="dynamic", **own), case(0.1, threads="none", **own), repetitions=3)
    said = "kept the default count: both are then the same setting, and differ only by noise or by the"
    assert not any(said in sentence for sentence in gains(found)), "these tell nothing of it"
    found.repetitions["threads_kept"] = ["schedule", "fixed", "fixed", None, None, None]
    found.repetitions["threads_kept_why"] = None
    (both,) = gains(found)
    assert f"due to chance. In 2 of 3 runs, dynamic threads {said}" in both
    found.repetitions.loc[1, "effective_intra_op_threads"] = 2
    assert not any(said in sentence for sentence in gains(found)), "one of three"


def test_where_no_interval_is_known_nothing_is_said_of_chance() -> None:
    own = {"cpus_per_task": 4}
    (gain,) = gains(results(case(0.1, intra_op_threads=2, **own), case(0.2, **own), repetitions=1, samples=1))
    assert gain.endswith("significantly faster in 0, significantly slower in 0.")


def test_limits_that_say_nothing_are_not_told_as_figures() -> None:
    assert in_brackets(Interval(47.0, 1.9e-07, 1.2e9)) == "47x [unknown]"
    assert in_brackets(Interval(1.3, 1.2, 1.4)) == "1.30x [1.20, 1.40]"
    assert between(1e-9, 10.0, str) == "unknown"
    assert between(0.0, 10.0, str) == "0.0 - 10.0"


def test_single_repetitions_are_said_to_be_lucky() -> None:
    own = {"cpus_per_task": 4}
    found = results(*(case(0.1 * n, intra_op_threads=n, **own) for n in (1, 2, 4)), case(0.2, **own), repetitions=1)
    assert any("biased upwards" in sentence for sentence in sentences(found))


def test_the_energy_of_a_step_stands_where_a_sensor_told_it() -> None:
    own = {"cpus_per_task": 4, "energy_measured_j": 64.0, "energy_measured_j_per_item": 0.25, "energy_scope": "cpu"}
    found = results(case(0.1, intra_op_threads=2, **own), case(0.2, **own))
    assert cells_of(found)["best fixed J per step"] == ("8",)  # 32 items
    assert not any("energy" in sentence for sentence in sentences(found))


@pytest.mark.parametrize("width", [60, 80, 120, 300])
def test_the_table_keeps_to_its_width(study: Results, width: int) -> None:
    lines = printed(study, width).splitlines()
    table = lines[: next(place for place, line in enumerate(lines) if line.startswith("Threads, dynamic over none"))]
    assert all(len(line) <= width for line in table)
    assert any("narrow" in line for line in table)


def test_of_many_contexts_the_first_are_printed_and_the_others_counted(study: Results) -> None:
    assert "... and 7 more contexts" in printed(study, top=2)


def test_what_a_search_has_measured_compares_no_ways_of_setting_threads(study: Results) -> None:
    searched = replace(study, searches=["sweep-1"])
    assert printed(searched) == ""
    assert threads_of(searched) is None
    assert not [figure.id for figure in chosen(searched, None) if figure.id.startswith("threads-")]
    repetitions = study.repetitions.assign(sweep="search", threads_kept="fixed", threads_kept_why=None, schedule=None)
    cases = study.cases.assign(sweep="search", time_median_s=study.cases["time_median_s"] / 2)
    both = replace(
        study,
        repetitions=pd.concat([repetitions, study.repetitions], ignore_index=True),
        cases=pd.concat([cases, study.cases], ignore_index=True),
        searches=["search"],
    )
    assert printed(both) == printed(study), "a sweep beside a search has its own"


@pytest.mark.parametrize("name", ["numbers", "frameworks", "one case", "all failed", "commands"])
def test_nothing_is_shown_where_there_are_no_two_ways(name: str) -> None:
    found = shape(name)
    assert printed(found) == ""
    assert threads_of(found) is None
    assert charts.figures_of_threads(contexts_of(found)) == []


def test_ways_of_different_cpus_are_not_held_against_each_other() -> None:
    assert contexts_of(results(case(0.1), threads(2))) == []


def test_the_page_has_all_columns_and_says_how_many_contexts_it_leaves_out(
    study: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = threads_of(study)
    assert section is not None
    (table,) = section.tables
    assert (section.title, table.title, table.note) == ("Threads by mode", "9 contexts", "")
    assert len(table.places) == 9
    assert {len(place.cells) for place in table.places} == {len(table.columns)}
    monkeypatch.setattr("hpcbench.report.html.threads.MAX_CONTEXTS", 2)
    cut = threads_of(study)
    assert cut is not None
    assert (len(cut.tables[0].places), cut.tables[0].note) == (2, "and 7 more contexts")


def test_figures_have_a_point_for_each_way_and_each_gain_with_their_intervals(study: Results) -> None:
    by_id = {figure.id: figure for figure in chosen(study, None)}
    for name, kinds in (("threads-times", 3), ("threads-gains", 3)):
        spec: dict[str, Any] = by_id[name].draw(AS_FILE).to_dict()
        rows = next(rows for rows in spec["datasets"].values() if len(rows) > 1)
        assert len(rows) == 9 * kinds
        assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert "Dynamic over none gains 1." in by_id["threads-gains"].description


def test_hostile_names_of_networks_stay_text_and_keep_their_rows_apart() -> None:
    tag = USER_PARAMETER + "network"
    cases = [
        case(0.01 * (place + 1) * factor, **{tag: name, "intra_op_threads": count})
        for place, name in enumerate(HOSTILE)
        for count, factor in ((None, 1.0), (2, 0.8))
    ]
    found = results(*cases, repetitions=2)
    assert len(contexts_of(found)) == len(HOSTILE)
    text = printed(found)
    assert "\x1b[31m" not in text
    assert "<b>html</b>" in text
    figure, _ = charts.figures_of_threads(contexts_of(found))
    spec = figure.draw(AS_FILE).to_dict()
    (rows,) = spec["datasets"].values()
    assert len({row["name"] for row in rows}) == len(HOSTILE)
