"""What a search has found, in words."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.analysis.cases.quantities import THROUGHPUT
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.report.terminal.tuning import headline, in_words, lines
from hpcbench.tuning.how_to_apply import Usage
from hpcbench.tuning.result import (
    ConfigurationResult,
    Failure,
    GridResult,
    HeldOutResult,
    Recommendation,
    ScheduleResult,
    TuningResult,
)

DEFAULT = ConfigurationResult("c0", {"intra_op_threads": None, "inter_op_threads": None}, Interval(100.0, 98.0, 102.0))
BEST = ConfigurationResult("c1", {"intra_op_threads": 2, "inter_op_threads": None}, Interval(150.0, 149.0, 151.0))
ANSWER = Recommendation(
    best=BEST,
    default=DEFAULT,
    winner=BEST,
    gain=Interval(1.5, 1.4, 1.6),
    certain=True,
    pairs=3,
    beats=23,
    of=23,
    usage=Usage({"OMP_NUM_THREADS": "2", "LD_PRELOAD": "/a b/libx.so"}, (), ("torch.set_num_threads(2)",)),
)
FINDING = TuningResult(
    "lstm inference", 24, ANSWER, (), seconds=75.0, measurements=40, with_interference=0, grid_seconds=3700.0
)


def told(finding: TuningResult) -> str:
    return "\n".join(lines(finding, THROUGHPUT))


def test_what_is_best_by_how_much_and_how_to_use_it() -> None:
    assert told(FINDING).splitlines() == [
        "lstm inference",
        "  best       intra_op_threads=2: 150 samples/s [149 - 151]",
        "  default    framework defaults: 100 samples/s [98 - 102]",
        "  gain       1.50x [1.40, 1.60] faster than the default",
        "  beats      23 of the 23 other measured configurations (100 %)",
        "  measuring  1 min 15 s; the full grid would take about 1 h 01 min (2 %)",
        "  outside hpcbench:",
        "    env OMP_NUM_THREADS=2 LD_PRELOAD='/a b/libx.so' python your_program.py",
        "    in the program, before its first operation: torch.set_num_threads(2)",
    ]


@pytest.mark.parametrize(("model", "unit"), [("lstm", "sequences/s"), ("alexnet", "images/s"), (None, "samples/s")])
def test_the_throughput_counts_the_items_of_the_model(model: str | None, unit: str) -> None:
    assert f"intra_op_threads=2: 150 {unit} [149 - 151]" in told(replace(FINDING, model=model))


def test_the_finding_in_a_sentence() -> None:
    def said(**changes: Any) -> str:
        return headline(replace(FINDING, answer=replace(ANSWER, **changes)), THROUGHPUT)

    assert said() == "intra_op_threads=2 is 1.50x [1.40, 1.60] faster than the default"
    assert said(gain=None) == "Best: intra_op_threads=2"
    assert said(best=DEFAULT, certain=False) == "Keep the default (framework defaults): no significant gain"
    assert said(best=DEFAULT, winner=DEFAULT, gain=None, certain=False) == "The default is best: framework defaults"
    assert headline(replace(FINDING, answer=None), THROUGHPUT) == "No configuration could be measured"


def test_instances_are_started_on_cpus_of_their_own() -> None:
    placed = replace(ANSWER, usage=Usage({"OMP_NUM_THREADS": "1"}, ((0,), (1, 3)), ()))
    assert told(replace(FINDING, answer=placed)).splitlines()[-3:] == [
        "    env OMP_NUM_THREADS=1 taskset --cpu-list 0 python your_program.py &",
        "    env OMP_NUM_THREADS=1 taskset --cpu-list 1,3 python your_program.py &",
        "    (the CPUs of that run on this machine; another job may get others)",
    ]


def test_a_command_is_told_as_it_is_started() -> None:
    def program(command: str, **usage: Any) -> str:
        answer = replace(ANSWER, usage=Usage(command=command, **usage))
        return told(replace(FINDING, answer=answer)).partition("  outside hpcbench:\n")[2].splitlines()[0].strip()

    threads = {"variables": {"OMP_NUM_THREADS": "2"}}
    assert program("./solve --size=4\n", **threads) == "env OMP_NUM_THREADS=2 ./solve --size=4"
    assert program("./solve", **threads, cpus=((0,),)) == "env OMP_NUM_THREADS=2 taskset --cpu-list 0 ./solve"
    assert program("cd x && ./solve", **threads) == ("env OMP_NUM_THREADS=2 bash -e -o pipefail -c 'cd x && ./solve'")
    assert program("N=1 ./solve").endswith("-c 'N=1 ./solve'")


def test_a_command_of_several_lines_is_one_line_that_does_the_same() -> None:
    command = "name='it'\nprintf '%s\\t%s\\n' \"$name\" \"$N\"\n"
    answer = replace(ANSWER, usage=Usage({"N": "a b"}, command=command))
    (line,) = told(replace(FINDING, answer=answer)).partition("  outside hpcbench:\n")[2].splitlines()
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "it\ta b\n"


def test_what_each_program_sets_in_its_own_way_is_named() -> None:
    compiled = replace(ANSWER, usage=Usage(others={"execution": "compiled", "dtype": "bfloat16"}))
    assert told(replace(FINDING, answer=compiled)).splitlines()[-2:] == [
        "    python your_program.py",
        "    by the options of the program: execution=compiled dtype=bfloat16",
    ]


def test_a_gain_that_is_not_certain_is_said_to_be_none() -> None:
    unsure = replace(ANSWER, best=DEFAULT, gain=Interval(1.01, 0.98, 1.04), certain=False)
    text = told(replace(FINDING, answer=unsure))
    assert "  keep       framework defaults: 100 samples/s [98 - 102]" in text
    assert (
        "not significant: intra_op_threads=2 seemed best and was 1.01x [0.98, 1.04] as good in 3 pairs "
        "with the default" in text
    )
    assert "a larger measure.repetitions may decide" in text
    assert "by chance" not in text
    above = told(replace(FINDING, answer=replace(unsure, gain=Interval(1.21, 1.01, 1.45))))
    assert "with the default; too few pairs for a verdict; a larger measure.repetitions may decide" in above
    small = told(replace(FINDING, answer=replace(unsure, gain=Interval(1.001, 0.999, 1.003))))
    assert "runs" not in small
    assert "outside hpcbench" not in text


def test_a_default_that_nothing_beat() -> None:
    same = replace(ANSWER, best=DEFAULT, winner=DEFAULT, gain=None, certain=False)
    assert "none: no configuration seemed better than the default" in told(replace(FINDING, answer=same))


def test_where_no_other_setting_ran_nothing_is_said_of_them() -> None:
    alone = replace(ANSWER, best=DEFAULT, winner=DEFAULT, gain=None, certain=False, pairs=0, beats=0, of=0)
    assert "gain       unknown (no other configuration could be measured)" in told(replace(FINDING, answer=alone))


def test_where_there_is_no_other_setting_no_gain_is_told() -> None:
    alone = replace(ANSWER, best=DEFAULT, winner=DEFAULT, gain=None, certain=False, pairs=0, beats=0, of=0)
    assert "gain" not in told(replace(FINDING, settings=1, answer=alone))


def test_a_default_that_could_not_be_measured() -> None:
    assert "the default could not be measured" in told(replace(FINDING, answer=replace(ANSWER, gain=None)))
    lost = replace(ANSWER, best=DEFAULT, gain=None, certain=False)
    assert "unknown: the default or the best candidate failed" in told(replace(FINDING, answer=lost))


def test_the_full_grid_says_how_good_it_is() -> None:
    better = ConfigurationResult("c2", {"intra_op_threads": 4, "inter_op_threads": None}, Interval(153.0, 150.0, 156.0))
    grid = GridResult(better, Interval(1.02, 1.0, 1.04), 21, 23)
    text = told(replace(FINDING, grid=grid, grid_seconds=3000.0))
    assert "full grid  the found configuration costs 1.02x [1.00, 1.04] as much as the grid's choice, and beats" in text
    assert "beats 21 of 23 other settings" in text
    assert "the full grid took 50 min 00 s" in text
    assert "full grid  same best: intra_op_threads=2: 150 samples/s" in told(
        replace(FINDING, grid=replace(grid, best=BEST))
    )
    once = told(replace(FINDING, grid=replace(grid, slower=None)))
    assert "one run cannot verify the choice; the best of the grid is intra_op_threads=4: 153 samples/s" in once
    failed = told(replace(FINDING, grid=replace(grid, slower=None, beats=0, failed=True)))
    assert "the found configuration failed; the best of the grid is intra_op_threads=4: 153 samples/s" in failed


def test_where_nothing_ran_the_reasons_are_told() -> None:
    failed = (Failure("c0", {"intra_op_threads": 4}, "failed: no module"), Failure("c1", {}, "timeout"))
    text = told(TuningResult("lstm", 2, None, failed, 3.0, 2, 0, None))
    assert "no configuration could be measured" in text
    assert "  failed     intra_op_threads=4: failed: no module" in text


def test_a_schedule_that_wins_is_named_with_what_stays_of_its_gain() -> None:
    shapes = (
        HeldOutResult({"batch_size": 24}, Interval(1.05, 1.01, 1.09), True),
        HeldOutResult({"batch_size": 2}, Interval(1.0, 0.9, 1.1), False),
        HeldOutResult({"batch_size": 999}, None, False, "following it failed: timeout"),
    )
    won = ScheduleResult("s.json", None, 90.0, Interval(1.08, 1.05, 1.11), True, shapes)
    assert told(replace(FINDING, by_section=won)).splitlines()[5:10] == [
        "  per layer  1.08x [1.05, 1.11] faster with per-layer threads than the best fixed setting: s.json",
        "             other cases use it by `schedule: s.json`; for your own model: docs/guides/threads.md",
        "             at batch_size=24: 1.05x [1.01, 1.09]",
        "             at batch_size=2: 1.00x [0.90, 1.10], not significant",
        "             at batch_size=999: could not be measured: following it failed: timeout",
    ]
    assert "(2 %); per-layer threads: 1 min 30 s more" in told(replace(FINDING, by_section=won))


def test_a_schedule_that_is_not_kept_says_why() -> None:
    unsure = ScheduleResult("s.json", None, 90.0, Interval(1.01, 0.98, 1.04), held_out_left=2)
    why = "no schedule is significantly faster, 1.01x [0.98, 1.04]"
    assert told(replace(FINDING, by_section=unsure)).splitlines()[5:7] == [
        f"  per layer  one thread count for all layer groups: {why}",
        "             2 held-out shapes not measured, since no schedule is significantly faster",
    ]
    failed = ScheduleResult(None, "a thread plan was found, but following it failed: timeout", 90.0)
    assert "for all layer groups: a thread plan was found, but" in told(replace(FINDING, by_section=failed))


def test_what_nobody_sets_is_not_told() -> None:
    assert in_words({"instances": 1, "intra_op_threads": None}) == "framework defaults"
    assert in_words({"instances": 2, "intra_op_threads": 4, "batch_size": 32}) == (
        "instances=2 intra_op_threads=4 batch_size=32"
    )


def test_what_others_disturbed_is_counted() -> None:
    assert "interference" not in told(FINDING)
    text = told(replace(FINDING, with_interference=3))
    assert "  noisy      3 of 40 measurements had interference: those that were not repeated widen" in text


def test_one_count_stays_where_no_schedule_is_certainly_faster() -> None:
    none = ScheduleResult(None, "no change of the thread count is faster", 20.0)
    assert "  per layer  one thread count for all layer groups: no change of" in told(replace(FINDING, by_section=none))
    known = told(replace(FINDING, by_section=replace(none, fixed_threads=2)))
    assert "  per layer  one thread count for all layer groups (best: 2): no change of" in known
    left = told(replace(FINDING, by_section=replace(none, held_out_left=2)))
    assert "2 held-out shapes not measured, since no schedule is significantly faster" in left


def test_a_schedule_of_one_process_is_told_beside_several_instances() -> None:
    two = replace(ANSWER, best=replace(BEST, parameters={"instances": 2}))
    unsure = ScheduleResult("s.json", None, 90.0, Interval(0.6, 0.5, 0.7))
    text = told(replace(FINDING, answer=two, by_section=unsure))
    assert "0.60x [0.50, 0.70]; a schedule uses one process, the best setting 2\n" in text
    assert "a schedule uses one process" not in told(replace(FINDING, by_section=unsure))


def test_what_the_environment_sets_is_told_beside_the_default() -> None:
    inherited = replace(ANSWER, inherited={"OMP_NUM_THREADS": "4", "OMP_PROC_BIND": "true"})
    but = "framework defaults, but OMP_NUM_THREADS=4 OMP_PROC_BIND=true from the environment: 100 samples/s [98 - 102]"
    text = told(replace(FINDING, answer=inherited))
    assert f"  default    {but}" in text
    assert text.count("from the environment") == 1
    stays = replace(inherited, best=DEFAULT, winner=DEFAULT, gain=None, certain=False)
    assert f"  best       {but}" in told(replace(FINDING, answer=stays))
    first = replace(inherited, default=replace(DEFAULT, parameters={"workers": 1}))
    assert "  default    workers=1, with OMP_NUM_THREADS=4" in told(replace(FINDING, answer=first))


def test_a_setting_that_may_change_results_asks_to_check_them() -> None:
    def last(best: dict[str, Any], default: dict[str, Any]) -> str:
        usage = Usage({}, (), ("torch.set_flush_denormal(True)",))
        settings = replace(BEST, parameters=best), replace(DEFAULT, parameters=default)
        answer = replace(ANSWER, best=settings[0], default=settings[1], usage=usage)
        return told(replace(FINDING, answer=answer)).splitlines()[-1]

    usual = {"dtype": "float32", "flush_denormals": None}
    both = last({"dtype": "bfloat16", "flush_denormals": True}, usual)
    assert both == "    results may differ by dtype and flush_denormals: check the accuracy"
    assert "may differ by flush_denormals: check" in last({**usual, "flush_denormals": True}, usual)
    assert "may differ" not in last({**usual, "flush_denormals": False}, usual)


def test_a_gain_over_runs_with_interference_says_so() -> None:
    few = replace(FINDING, answer=replace(ANSWER, with_interference=2))
    gain = "1.50x [1.40, 1.60] faster than the default (2 of 6 runs of the comparison had interference)"
    assert f"  gain       {gain}" in told(few)
    assert headline(few, THROUGHPUT).endswith(gain)
    most = replace(FINDING, answer=replace(ANSWER, with_interference=5, certain=False, best=DEFAULT))
    assert "  gain       unknown: 5 of 6 runs of the comparison had interference; intra_op_threads=2 was 1.50x" in told(
        most
    )
    assert (
        headline(most, THROUGHPUT)
        == "Keep the default (framework defaults): most runs of the comparison had interference"
    )


def test_one_cause_of_failure_is_one_line() -> None:
    failed = [Failure(f"c{n}", {"intra_op_threads": n}, f"rank 0 on node{n} was killed after {n} s") for n in (2, 3, 4)]
    lines_of = [line for line in told(replace(FINDING, failed=tuple(failed))).splitlines() if "failed " in line]
    assert lines_of == [
        "  failed     intra_op_threads=2 and 2 other configurations: rank 0 on node2 was killed after 2 s"
    ]
