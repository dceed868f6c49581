"""The rules of Hoefler and Belli: a sound report has no findings, and each lack has one, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.quantities import QUANTITIES, THROUGHPUT, Quantity
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.reporting_rules import RULES, Evidence, RuleViolation, not_applicable
from hpcbench.analysis.studies.rule_checks import CHECKS, check
from hpcbench.util.text import percent_above
from tests.examples import examples

Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]
Rows = list[dict[str, Any]]
RATE = "throughput_items_per_s"


@pytest.fixture
def case(repetition: Rep) -> Callable[..., Rows]:
    """The runs of one case, close to each other; later cases are slower by a tenth each."""

    def make(number: int = 0, runs: int = 6, samples: int = 20, spread: float = 0.001, **changes: Any) -> Rows:
        noise = np.random.default_rng(number)
        centres = 0.1 * (1 + 0.1 * number) * noise.normal(1.0, spread, runs)
        times = [centre * noise.normal(1.0, 0.001, samples) for centre in centres]
        return [repetition(number, run, own, **changes) for run, own in enumerate(times)]

    return make


@pytest.fixture
def judged(table: Table) -> Callable[..., list[RuleViolation]]:
    """The findings of a report on some runs; the first case is the base unless `base` is None."""

    def judge(
        rows: Rows,
        metric: str = RATE,
        base: int | None = 0,
        mean_rates: tuple[str, ...] = (),
        searches: tuple[str, ...] = (),
        shown: tuple[str, ...] = (),
    ) -> list[RuleViolation]:
        repetitions = table(*rows)
        quantity = QUANTITIES.get(metric) or Quantity(metric, metric, more_is_better=True)
        replicates = Replicates(by_case(repetitions))
        cases = ranked(add_speedup(case_table(repetitions), replicates, base), quantity)
        more = {"mean_rates": mean_rates, "searches": searches}
        results = Results(repetitions, cases, quantity, shown, replicates, base is not None, **more)  # type: ignore[arg-type]
        return check(Evidence(results))

    return judge


@pytest.fixture
def command(case: Callable[..., Rows]) -> Callable[..., Rows]:
    """The runs of a command, each with the rate that is given."""

    def make(number: int, *rates: float) -> Rows:
        nothing = {"framework": "command", "model": None, "task": None, "strategy": None, "items_per_step": None}
        rows = case(number, runs=len(rates), **nothing)
        return [{**row, "metric_rate": float(rate)} for row, rate in zip(rows, rates, strict=True)]

    return make


Case = Callable[..., Rows]
Command = Callable[..., Rows]
Judged = Callable[..., list[RuleViolation]]


def test_a_sound_report_has_no_findings(case: Case, judged: Judged) -> None:
    assert judged([*case(0), *case(1), *case(2)]) == []


def test_rule_1_the_base_that_was_taken_is_said_where_none_was_named(case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(1)], base=None)
    assert finding.rule == 1
    assert "the first case, case-0 (0.1 s)" in finding.lacking
    assert finding.remedy == "set one with --baseline-case"
    (finding,) = judged([*case(0), *case(1), *case(2, model="lstm"), *case(3, model="lstm")], base=None)
    assert "the first case of each of 2 workloads or problem sizes (1.00x)" in finding.lacking


def test_rule_1_cases_that_are_compared_with_nothing_need_no_base(case: Case, judged: Judged) -> None:
    assert judged([*case(0), *case(1, model="lstm")], base=None) == []
    commands = {"framework": "command", "model": None, "task": None, "strategy": None}
    assert judged([*case(0, **commands), *case(1, **commands)], "time_median_s", base=None) == []


def test_rule_2_cases_that_are_missing_are_counted_by_their_states(case: Case, judged: Judged) -> None:
    lost = [*case(2, status="failed"), *case(3, status="planned"), *case(4, status="failed")]
    (finding,) = judged([*case(0), *case(1), *lost])
    assert (finding.rule, finding.lacking) == (2, "3 of 5 cases did not complete (2 failed, 1 planned)")
    assert finding.remedy.startswith("hpcbench resume sweep-1, ")


def test_rule_2_what_cannot_run_here_is_not_resumed(case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(1), *case(2, status="unsupported")])
    assert finding.remedy == "explain why they are left out"


def test_rule_3_a_metric_that_is_a_mean_of_rates_is_named(case: Case, judged: Judged) -> None:
    (finding,) = judged(case(0), mean_rates=("rate",))
    assert (finding.rule, finding.lacking) == (3, "arithmetic means of rates: rate")


def test_rule_5_a_single_run_tells_nothing_about_the_next(case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(1, runs=1)])
    assert finding.rule == 5
    assert "1 of 2 cases has one run" in finding.lacking
    assert "measure.repetitions to 6" in finding.remedy


def test_rule_5_what_others_disturbed_is_measured_again_first(case: Case, judged: Judged) -> None:
    rows = case(1, runs=2)
    rows[1].update(interference="interference", interference_causes="cpu")
    found = judged([*case(0), *rows])
    (finding,) = [each for each in found if "has one run" in each.lacking]
    assert finding.remedy == "hpcbench resume sweep-1 --interference reruns those with interference"


def test_rule_6_what_others_disturbed_is_measured_again_only_if_that_makes_enough_runs(
    case: Case, judged: Judged
) -> None:
    for runs, remedy in ((5, "set measure.repetitions to 6 or more"), (6, "--interference reruns")):
        rows = case(1, runs=runs)
        rows[1].update(interference="interference", interference_causes="cpu")
        (finding,) = [each for each in judged([*case(0), *rows]) if each.rule == 6]
        assert remedy in finding.remedy


def test_rule_5_several_runs_may_have_no_interval(command: Command, judged: Judged) -> None:
    """Nothing is said to be within 5 % of which it is not known; two to five runs need logarithms, and 0 has none."""
    found = judged([*command(0, 0.0, 1.0), *command(1, 10.0, 10.0)], "metric_rate")
    assert [finding.rule for finding in found] == [5, 7, 6]
    assert found[0].lacking == "1 of 2 cases has no interval: one value, or few values that are not all above 0"
    assert found[1].lacking == "1 of 1 pair of neighbours in the ranking has intervals that overlap or are missing"


def test_rule_5_an_interval_about_a_median_of_0_is_wide(command: Command, judged: Judged) -> None:
    (finding,) = judged(command(0, -1.0, -1.0, 0.0, 0.0, 1.0, 1.0), "metric_rate")
    assert finding.lacking.startswith("the CI extends more than 5 % from the median: ")
    assert judged(command(0, *[0.0] * 6), "metric_rate") == []


@pytest.mark.parametrize(("percent", "shown"), [(63.4, "63 %"), (5.2, "5.2 %"), (5.004, "5.004 %"), (5.6, "6 %")])
def test_rule_5_an_extent_above_the_bound_is_never_rounded_to_the_bound(percent: float, shown: str) -> None:
    assert percent_above(5.0, percent) == shown


def test_rule_5_wide_intervals_are_counted_and_the_widest_named(case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(3, spread=0.03), *case(9, spread=0.1)])
    assert finding.rule == 5
    assert finding.lacking.startswith("the CIs of 1 of 3 cases extend more than 5 % from the median, up to ")
    assert finding.lacking.endswith("(case-9)")


def test_rule_6_of_single_runs_nothing_is_said_that_would_take_several(case: Case, judged: Judged) -> None:
    assert [finding.rule for finding in judged(case(0, runs=1))] == [5]
    assert "six runs" not in RULES[6].kept


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_rule_6_few_runs_are_taken_for_log_normal(runs: int, case: Case, judged: Judged) -> None:
    found = judged([*case(0, runs=runs, spread=1e-5), *case(1)])
    assert [finding.rule for finding in found] == [6]
    assert "1 of 2 cases has fewer than 6 runs" in found[0].lacking


def test_rule_7_neighbours_whose_intervals_overlap_are_counted(case: Case, judged: Judged) -> None:
    """One of the three is alone in its workload, and has no neighbour there."""
    twin = [{**row, "case": "case-9", "case_index": 9} for row in case(0)]
    (finding,) = judged([*case(0), *case(1), *twin, *case(5, model="lstm")])
    assert finding.rule == 7
    assert finding.lacking == "1 of 2 pairs of neighbours in the ranking has intervals that overlap"


def test_rule_7_cases_of_other_batch_sizes_are_held_against_each_other_by_item(case: Case, judged: Judged) -> None:
    """Twice the items in about twice the time: as fast, though the times of a step are far apart."""
    double = [{**row, "times_s": 2 * row["times_s"], "items_per_step": 64, "case": "case-9"} for row in case(0)]
    assert [finding.rule for finding in judged([*case(0), *double])] == [7]
    assert judged([*case(0), *double], "time_median_s") == []


@pytest.mark.parametrize("metric", ["time_p50_s", "peak_memory_bytes"])
def test_rule_7_a_ranking_by_what_has_no_interval_is_told(metric: str, case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(1)], metric)
    assert (finding.rule, finding.lacking) == (7, f"the ranking is by {metric}, which has no interval")


def test_rule_7_commands_are_held_against_each_other_by_the_metric_that_ranks_them(
    command: Command, judged: Judged
) -> None:
    def rates(first: int) -> range:
        return range(first, first + 6)

    assert [
        finding.rule for finding in judged([*command(0, *rates(100)), *command(1, *rates(103))], "metric_rate")
    ] == [7]
    assert judged([*command(0, *rates(100)), *command(1, *rates(200))], "metric_rate") == []


def test_rule_7_what_has_no_interval_is_in_no_certain_order(command: Command, judged: Judged) -> None:
    found = judged([*command(0, 100.0), *command(1, 200.0)], "metric_rate")
    assert [finding.rule for finding in found] == [5, 7]
    assert found[1].lacking == "1 of 1 pair of neighbours in the ranking has intervals that overlap or are missing"


def test_rule_8_tails_of_inference_that_are_not_known_are_told_with_the_reason(case: Case, judged: Judged) -> None:
    known = case(0, samples=50, task="inference")
    few = case(1, samples=49, task="inference")
    blocks = case(2, samples=50, task="inference", steps_per_measurement=10)
    replicas = case(3, samples=50, task="inference", nodes=2)
    found = {finding.rule: finding for finding in judged([*known, *few, *blocks, *replicas])}
    assert set(found) == {8, 11}
    told = "p99 is unknown for 3 of 4 cases (1 timed in blocks of steps, 1 means over tasks, 1 with fewer than 299 "
    assert found[8].lacking == told + "measurements)"
    assert found[8].remedy.split("; ") == [
        "increase batch_size until single steps can be timed",
        "use a single task",
        "increase min_measurements and max_time_s: 299 in all runs",
    ]
    assert judged(known) == []


@pytest.mark.parametrize(
    ("tasks", "larger"),
    [
        (["operator", "operator"], "the sizes of the operators"),
        (["operator", "inference"], "batch_size, or the sizes of operators,"),
        (["train", "inference"], "batch_size"),
    ],
)
def test_rule_8_short_calls_of_operators_need_larger_sizes(
    tasks: list[str], larger: str, case: Case, judged: Judged
) -> None:
    rows = [row for number, task in enumerate(tasks) for row in case(number, task=task, steps_per_measurement=10)]
    (found,) = [each for each in judged(rows, "time_p99_s") if each.rule == 8]
    assert found.remedy == f"increase {larger} until single steps can be timed"


def test_rule_8_the_tail_of_training_matters_where_somebody_asks_for_it(case: Case, judged: Judged) -> None:
    found = judged([*case(0), *case(1)], "time_p999_s")
    assert "p99.9 is unknown for 2 of 2 cases (2 with fewer than 2,995 measurements)" in [
        each.lacking for each in found
    ]


def test_rule_8_the_percentiles_of_a_command_need_runs(command: Command, judged: Judged) -> None:
    (found,) = [each for each in judged([*command(0, 100.0), *command(1, 200.0)], "time_p99_s") if each.rule == 8]
    assert found.remedy == "set measure.repetitions to 299"
    judgement = judged([*command(0, 100.0), *command(1, 200.0)], "time_p999_s")
    (found,) = [each for each in judgement if each.rule == 8]
    assert found.remedy == "rank by a lower percentile: a case has at most 1,000 runs"


def test_rule_9_a_factor_that_nobody_asked_for_is_told_with_its_levels(case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(1, cpu_model="another CPU", kernel="5.14.0")])
    assert finding.rule == 9
    assert "not an axis: cpu_model (a CPU, another CPU), kernel (6.1.0, 5.14.0)" in finding.lacking
    many = [row for number in range(5) for row in case(number, kernel=f"6.{number}.0")]
    assert judged(many)[0].lacking.endswith("kernel (5 values)")


def test_rule_9_names_an_axis_whose_values_each_ran_on_one_kind_of_machine(case: Case, judged: Judged) -> None:
    (finding,) = judged(
        [*case(0, batch_size=64), *case(1, cpu_model="another CPU", batch_size=32)], shown=("batch_size",)
    )
    words = "cpu_model (a CPU, another CPU); cpu_model is confounded with batch_size: their effects"
    assert words in finding.lacking


def test_rule_9_what_was_not_recorded_and_what_was_not_committed_is_told(case: Case, judged: Judged) -> None:
    found = judged([*case(0, cpu_turbo=None), *case(1, git_dirty=True)])
    assert [finding.rule for finding in found] == [9, 9]
    assert "cpu_turbo" in found[0].lacking
    assert "sweep-1" in found[1].lacking


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"nodes": 4}, "1x to 4x"),
        ({"tasks_per_node": 2, "cpus_per_task": 3}, "1x to 6x"),
        ({"device": "gpu", "gpu_model": "a GPU", "tasks_per_node": 2}, None),  # a GPU is no number of CPUs
        ({"intra_op_threads": 4}, None),
    ],
)
def test_rule_11_a_speedup_on_more_processors_has_ideal_scaling_for_its_bound(
    changes: dict[str, Any], bound: str | None, case: Case, judged: Judged
) -> None:
    found = judged([*case(0), *case(1, **changes)])
    assert [finding.rule for finding in found] == ([11] if bound else [])
    assert all(bound in finding.remedy for finding in found if bound)
    assert RULES[11].kept.startswith("speedups on one kind of device ")


def test_rule_11_gpus_are_bounded_by_gpus_and_not_by_the_cpus_beside_them(case: Case, judged: Judged) -> None:
    gpu = {"device": "gpu", "gpu_model": "a GPU"}
    assert judged([*case(0, **gpu), *case(1, **gpu, cpus_per_task=8)]) == []
    (finding,) = judged([*case(0, **gpu), *case(1, **gpu, tasks_per_node=2)])
    assert "1x to 2x" in finding.remedy


def test_the_worst_comes_first(case: Case, judged: Judged) -> None:
    everything = [*case(0, runs=1, cpu_turbo=None), *case(1, kernel="5.14.0"), *case(2, status="failed")]
    assert [finding.rule for finding in judged(everything, base=None)] == [2, 5, 9, 1, 9]


STATES = st.sampled_from(["completed", "completed", "failed", "planned"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(
    st.lists(st.tuples(STATES, st.sampled_from(["mlp", "lstm"]), st.integers(1, 4)), min_size=1, max_size=6),
    st.booleans(),
)
def test_whatever_has_run_can_be_judged(
    case: Case, judged: Judged, cases: list[tuple[str, str, int]], inference: bool
) -> None:
    task = "inference" if inference else "training"
    rows = [
        row
        for number, (status, model, nodes) in enumerate(cases)
        for row in case(number, runs=2, status=status, model=model, nodes=nodes, task=task)
    ]
    for finding in judged(rows, base=None):
        assert finding.rule in RULES
        assert finding.lacking
        assert finding.remedy


def test_every_check_is_of_one_of_the_twelve_rules() -> None:
    assert list(RULES) == list(range(1, 13))
    assert len(set(CHECKS)) == len(CHECKS)


def test_rule_9_what_others_disturbed_is_said_and_whether_it_is_used(case: Case, judged: Judged) -> None:
    some, all_of_it = case(0), case(1)
    for row in [some[0], *all_of_it]:
        row.update(interference="interference", interference_causes="cpu, memory")
    (finding, *_) = [found for found in judged([*some, *all_of_it, *case(2)]) if found.rule == 9]
    assert finding.lacking == (
        "interference in 7 of 18 runs, in 2 of 3 cases (cpu, memory), in all attempts; "
        "1 left out, 6 were used, because this case has no clean runs"
    )
    assert finding.remedy.startswith("hpcbench resume sweep-1 --interference, or a new sweep")


def test_of_a_search_nothing_is_advised_that_it_refuses(case: Case, judged: Judged) -> None:
    lost, once, with_interference = case(0), case(1)[:1], case(2)
    for row in lost:
        row.update(status="failed")
    for row in with_interference:
        row.update(interference="interference", interference_causes="cpu")
    remedies = {each.rule: each.remedy for each in judged([*lost, *once, *with_interference], searches=("sweep-1",))}
    assert remedies[2].startswith("fix the failures, then search again: hpcbench tune")
    assert "hpcbench tune --exhaustive" in remedies[5]
    assert remedies[9].startswith("a new search on whole nodes")
    assert not any("resume" in remedy for remedy in remedies.values())


def test_rule_9_what_was_left_out_as_disturbed_has_no_say_in_anything_else(case: Case, judged: Judged) -> None:
    odd = {"steady": False, "drift": 0.2, "kernel": "5.14.0", "cpu_turbo": None, "git_dirty": True}
    runs = case(1, runs=7)
    runs[0].update(interference="interference", interference_causes="cpu", **odd)
    (finding,) = judged([*case(0), *runs])
    assert "1 left out" in finding.lacking
    for row in runs:
        row.update(interference="interference", interference_causes="cpu")
    assert [each.rule for each in judged([*case(0), *runs])] == [9, 9, 5, 9, 9]


def test_rule_9_what_nobody_watched_is_said(case: Case, judged: Judged) -> None:
    (finding,) = judged([*case(0), *case(1, interference="unmonitored")])
    assert (finding.rule, finding.lacking) == (9, "interference is unknown for 1 of 2 cases")


@pytest.mark.parametrize("changes", [{"steady": False}, {"drift": -0.06}])
def test_rule_5_what_was_not_steady_is_said(case: Case, judged: Judged, changes: dict[str, Any]) -> None:
    (finding,) = judged([*case(0), *case(1, **changes)])
    assert finding.rule == 5
    assert "1 of 2 cases was not steady" in finding.lacking


@pytest.fixture
def results(table: Table) -> Callable[..., Results]:
    def make(*rows: dict[str, Any], **more: Any) -> Results:
        repetitions = table(*rows)
        replicates = Replicates(by_case(repetitions))
        cases = ranked(add_speedup(case_table(repetitions), replicates), THROUGHPUT)
        return Results(repetitions, cases, THROUGHPUT, [], replicates, **more)

    return make


def test_rules_without_anything_to_check_do_not_apply(case: Case, results: Callable[..., Results]) -> None:
    alone = not_applicable(Evidence(results(*case(0))))
    assert set(alone) == {1, 4, 7, 8, 10, 11, 12}
    assert alone[7] == "no workload has two measured cases"
    assert set(not_applicable(Evidence(results(*case(0), *case(1))))) == {8, 10}
    failed = not_applicable(Evidence(results(*case(0, status="failed"))))
    assert set(failed) == set(RULES) - {2}
    assert set(failed.values()) == {"no case was measured"}


def test_rule_2_resume_is_not_recommended_for_what_would_fail_again(
    case: Case, results: Callable[..., Results]
) -> None:
    rows = [*case(0), *case(1, status="failed"), *case(2, status="failed")]
    keys = [("sweep-1", f"case-{number}") for number in (1, 2)]
    (first, *_) = check(Evidence(results(*rows, fails_again=keys)))
    change = "correct the cause of the failures and start a new sweep"
    assert first.remedy == f"{change}, or explain why they are left out"
    (first, *_) = check(Evidence(results(*rows, fails_again=keys[:1])))
    assert first.remedy.startswith(f"hpcbench resume sweep-1; 1 case would fail again: {change}, or explain")


def test_rule_5_an_interval_that_tables_do_not_show_has_no_width(case: Case, judged: Judged) -> None:
    def found(*rows: dict[str, Any]) -> str:
        return next(each.lacking for each in judged([*rows]) if each.rule == 5)

    apart = [{**row, "times_s": row["times_s"] * (1 + 2 * row["run"])} for row in case(3, runs=2)]
    assert found(*apart) == "the CI is unknown, because the runs differ too much"
    of_two = "the CIs of 1 of 2 cases extend more than 5 % from the median or are unknown (case-3)"
    assert found(*case(0), *apart) == of_two


def test_rule_5_names_the_workload_of_the_widest_if_there_are_several(case: Case, judged: Judged) -> None:
    def threads(number: int, **changes: Any) -> Rows:
        return case(number, intra_op_threads=1 + number % 2, **changes)

    rows = [*threads(0), *threads(3), *threads(4, task="inference"), *threads(9, task="inference", spread=0.1)]
    (finding,) = [each for each in judged(rows, shown=("task", "intra_op_threads")) if each.rule == 5]
    assert finding.lacking.endswith("(inference: intra_op_threads=2)")


def test_advice_without_slurm_names_no_administrators_and_no_slurm_options(case: Case, judged: Judged) -> None:
    noisy = {"interference": "interference", "interference_causes": "cpu", "cpu_turbo": None}
    for job, words in (("12_0", ("whole nodes", "administrators")), (None, ("an idle machine", "on the machine"))):
        found = [each.remedy for each in judged([*case(0, **noisy, job_id=job), *case(1, job_id=job)])]
        text = "; ".join(found)
        assert [word in text for word in ("whole nodes", "administrators")] == [job is not None] * 2
        assert all(word in text for word in words)


def test_advice_for_commands_names_the_option_of_hpcbench_run(command: Command, judged: Judged) -> None:
    found = judged([*command(0, 1.0)], "metric_rate")
    assert found[0].remedy == "set --repetitions (measure.repetitions) to 6 or more"
