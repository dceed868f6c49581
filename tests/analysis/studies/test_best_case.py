"""The answer: best, base, what is as good, and how it is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.quantities import MEMORY, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.best_case import BestCase, best_cases
from hpcbench.report.text.best_case_sentence import sentence
from tests.report.synthetic_results import case as made_up
from tests.report.synthetic_results import results

Ask = Callable[..., list[BestCase]]
SURE = (1.00, 1.01, 0.99, 1.00, 1.01, 0.99)  # what the repetitions of a case multiply its time with


@pytest.fixture
def ask(repetition: Callable[..., dict[str, Any]], table: Callable[..., pd.DataFrame]) -> Ask:
    """The best_cases of cases with one and more threads that take so many seconds."""

    def make(
        *times: float,
        spread: Sequence[float] = SURE,
        quantity: Quantity = THROUGHPUT,
        base: int | None = None,
        **columns: list[Any],
    ) -> list[BestCase]:
        rows = [
            repetition(
                case,
                run,
                [time * part],
                intra_op_threads=case + 1,
                **{name: values[case] for name, values in columns.items()},
            )
            for case, time in enumerate(times)
            for run, part in enumerate(spread)
        ]
        repetitions = table(*rows)
        replicates = Replicates(by_case(repetitions))
        cases = ranked(add_speedup(case_table(repetitions), replicates, base), quantity)
        shown = ["framework", "intra_op_threads"] if "framework" in columns else ["intra_op_threads"]
        return best_cases(Results(repetitions, cases, quantity, shown, replicates, base is not None))

    return make


def test_the_best_is_told_with_its_gain_over_the_first_case_and_what_is_as_good(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.2, 0.2002)
    assert answer.best.name == "intra_op_threads=2"
    assert answer.base.case.name == "intra_op_threads=1"
    assert [each.name for each in answer.alike] == ["intra_op_threads=3"]
    assert answer.is_significant
    assert answer.gain.estimate == pytest.approx(2)
    said = sentence(answer)
    assert said.startswith("intra_op_threads=2 (160 samples/s) is 2.00x [1.9")
    assert "] faster than the first case, intra_op_threads=1; intra_op_threads=3 is within noise" in said


def test_a_base_that_was_named_is_called_so(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.2, base=0)
    assert "faster than the base case, intra_op_threads=1." in sentence(answer)


def test_a_gain_that_noise_explains_is_no_gain(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.39, spread=(1.0, 1.2, 0.8))
    assert not answer.is_significant
    said = sentence(answer)
    assert said.startswith("intra_op_threads=2 is best (82.05 samples/s), but not significantly: 1.03x [0.")
    assert "within noise" not in said, "it has been said"


def test_where_the_first_case_is_best_nothing_is_better(ask: Ask) -> None:
    (answer,) = ask(0.2, 0.4, 0.2001)
    said = (
        "No case is faster than the first case, intra_op_threads=1 (160 samples/s); intra_op_threads=3 is within noise"
    )
    assert sentence(answer) == f"{said} of it."


def test_less_time_is_faster_and_less_memory_smaller(ask: Ask) -> None:
    assert "2.00x" in sentence(ask(0.4, 0.2, quantity=TIME)[0])
    (answer,) = ask(0.2, 0.2, quantity=MEMORY, peak_memory_bytes=[2**31, 2**30])
    said = "intra_op_threads=2 (1 GiB) is 2.00x [2.00, 2.00] smaller than the first case, intra_op_threads=1."
    assert sentence(answer) == said


def test_each_kind_of_work_has_its_own_answer_with_a_name_of_its_own(ask: Ask) -> None:
    found = ask(0.4, 0.2, 0.1, 0.3, model=["mlp", "mlp", "lstm", "lstm"])
    assert [(answer.work.short_title, answer.best.name) for answer in found] == [
        ("mlp", "intra_op_threads=2"),
        ("lstm", "intra_op_threads=3"),
    ]


def test_long_names_that_read_alike_are_not_taken_for_one_case() -> None:
    ends = [f"{'x' * 100}{kind}{'y' * 100}" for kind in "abc"]
    times = (0.4, 0.2, 0.2002)
    (answer,) = best_cases(results(*(made_up(time, param_kind=end) for time, end in zip(times, ends, strict=True))))
    assert answer.best.name == answer.base.case.name
    assert not answer.best_is_base
    assert " faster than the first case, " in sentence(answer)


def test_a_single_run_beside_several_has_no_interval(ask: Ask) -> None:
    found = results(made_up(0.4, intra_op_threads=1), made_up(0.2, intra_op_threads=2))
    last = found.repetitions["case"] == found.repetitions["case"].iloc[-1]
    rows = found.repetitions[~last | (found.repetitions["run"] == 0)]
    replicates = Replicates(by_case(rows))
    cases = ranked(add_speedup(case_table(rows), replicates), TIME)
    (answer,) = best_cases(replace(found, repetitions=rows, cases=cases, replicates=replicates, quantity=TIME))
    assert answer.gain[1:] == (None, None)
    end = "(significance unknown). intra_op_threads=2 has one run: the variation between runs is unknown."
    assert sentence(answer).endswith(end)


def test_cases_without_a_value_are_counted(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.2, 0.1, quantity=MEMORY, peak_memory_bytes=[2**31, 2**30, None])
    assert answer.cases == 2
    assert sentence(answer).endswith(". 1 of 3 cases has no peak memory of a task.")


def test_there_is_no_ratio_to_nothing(ask: Ask) -> None:
    costs = replace(MEMORY, more_is_better=True)
    (answer,) = ask(0.4, 0.2, quantity=costs, peak_memory_bytes=[0, 2**30])
    assert sentence(answer).startswith("intra_op_threads=2 is best (1 GiB); no ratio to the first case, ")


@pytest.mark.parametrize("times", [(0.0, 2.0), (2.0, 0.0)])
def test_a_case_whose_time_is_zero_is_the_best_without_a_ratio(ask: Ask, times: tuple[float, float]) -> None:
    (found,) = ask(*times, items_per_step=[None, None], base=times.index(2.0))
    assert found.value.estimate == 0
    assert found.gain[1:] == (None, None)


def test_frameworks_are_named_as_people_name_them(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.2, framework=["pytorch", "tensorflow"])
    assert answer.best.name == "tensorflow with intra_op_threads=2"


def test_one_run_each_says_nothing_of_the_next(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.2, spread=(1.0,))
    unknown = "Each has one run: the variation between runs is unknown."
    assert sentence(answer).endswith(f" (significance unknown). {unknown}")


def test_a_single_case_is_compared_with_nothing(ask: Ask) -> None:
    assert sentence(ask(0.4)[0]).endswith("no other case to compare with.")


def test_the_only_case_of_a_command_is_not_named() -> None:
    lone = {"framework": "command", "model": None, "task": None, "command": "./bench", "items_per_step": None}
    (answer,) = best_cases(results(made_up(0.4, **lone, interference="interference", interference_causes="cpu")))
    said = "All runs had interference; the result may be due to it."
    assert re.fullmatch(rf"[^:]+ ms; no other case to compare with\. {said}", sentence(answer))


def test_the_best_of_many_is_not_certain_where_chance_alone_makes_one_as_good(ask: Ask) -> None:
    """Sixty cases that are equal: the interval of the best one over the first may well lie above 1."""
    generator = np.random.default_rng(11)
    lucky = 0
    for _ in range(4):
        (answer,) = ask(*(0.2 * generator.lognormal(0, 0.007, 60)))
        lucky += answer.gain.low is not None and answer.gain.low > 1
        assert not answer.is_significant
        if answer.gain.low is not None and answer.gain.low > 1:
            assert ", but not significantly after correction for 60 cases: 1.0" in sentence(answer)
    assert lucky, "the test shows nothing"


def test_the_base_has_the_problem_size_of_the_best(ask: Ask) -> None:
    """A batch of 64 is compared with the first case of 64, not with a batch of 1."""
    (answer,) = ask(0.4, 0.4, 0.8, 0.6, batch_size=[1, 1, 64, 64], items_per_step=[1, 1, 64, 64])
    assert answer.base.case.name == "intra_op_threads=3"
    assert " faster than the first case of its problem size, intra_op_threads=3" in sentence(answer)


def test_a_batch_without_another_case_is_compared_with_the_first_and_the_sentence_says_so(ask: Ask) -> None:
    (answer,) = ask(0.4, 0.8, batch_size=[1, 64], items_per_step=[1, 64])
    assert "faster than the first case, intra_op_threads=1, which has a different problem size." in sentence(answer)


def test_a_headline_over_runs_with_interference_says_so(ask: Ask) -> None:
    states = ["clean", "interference", "interference"]
    said = sentence(ask(0.4, 0.2, 0.3, interference=states, interference_causes=[None, "cpu", "cpu"])[0])
    assert " All runs of intra_op_threads=2 had interference; the result may be due to it." in said
    assert " All runs of 2 of 3 cases had interference." in said
    assert "interference" not in sentence(ask(0.4, 0.2)[0])
