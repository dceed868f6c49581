"""Commands on a terminal: their metrics with units and intervals, apart from models."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.results import Results
from hpcbench.report.terminal.results import print_report
from hpcbench.report.text.numbers import figure, memory
from hpcbench.report.text.ranking_notes import ranking_notes

MakeCases = Callable[..., pd.DataFrame]
METRICS = {
    "metric_rate_it_per_s": Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True),
    "metric_loss": Quantity("metric_loss", "loss"),
}
CANDIDATES = ["framework", "model", "command", "batch_size", "param_message_bytes", "param_n"]


def command(rate: float, **changes: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(["model", "task", "dtype", "parameter_count", "flops_per_item", "math_mode"])
    metric = {
        "metric_rate_it_per_s": rate,
        "metric_rate_it_per_s_ci_low": rate - 1,
        "metric_rate_it_per_s_ci_high": rate + 1,
    }
    nothing = dict.fromkeys(["metric_loss", "metric_loss_ci_low", "metric_loss_ci_high"])
    own = {"framework": "command", "command": "./bench", "throughput_items_per_s": None, "speedup": None}
    return {**unknown, **metric, **nothing, **own, **changes}


def printed(cases: pd.DataFrame, metrics: dict[str, Quantity] | None = None) -> str:
    file = io.StringIO()
    nothing, known = pd.DataFrame({"sweep": cases["sweep"]}), metrics or METRICS
    quantity = next(iter(known.values()))
    results = Results(nothing, cases, quantity, telling_apart(cases, CANDIDATES), Replicates({}), metrics=known)
    print_report(results, 40, Console(file=file, width=120))
    return file.getvalue()


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_command_is_shown_with_its_metrics_and_the_time_that_it_took(make_cases: MakeCases) -> None:
    text = words(printed(make_cases(command(12.5, batch_size=1), command(25_000.0, batch_size=2))))
    assert "study: ./bench batch size" in text
    assert "batch size rate (it/s) 95 % CI wall time (ms) n" in text
    assert "1 12.50 11.50 - 13.50 29.1 3" in text
    assert "2 25,000 24,999 - 25,001 29.1 3" in text
    assert "loss" not in text, "no case of these has it"


def test_what_a_command_was_made_of_stands_for_it(make_cases: MakeCases) -> None:
    rows = [command(size, batch_size=size, command=f"./bench --size {size}") for size in (1, 2)]
    text = words(printed(make_cases(*rows)))
    assert "study: commands batch size" in text
    assert "--size" not in text


def test_commands_that_differ_in_nothing_else_are_shown_themselves(make_cases: MakeCases) -> None:
    text = words(printed(make_cases(command(1, command="./slow"), command(2, command="./fast"))))
    assert "./slow 1" in text
    assert "./fast 2" in text


def test_a_tag_that_counts_bytes_is_no_memory(make_cases: MakeCases) -> None:
    rows = [command(1, param_message_bytes=size) for size in (1, 1048576)]
    text = words(printed(make_cases(*rows)))
    assert "message bytes" in text
    assert "1048576 1.00 0.00 - 2.00" in text


def test_a_user_parameter_named_like_another_column_keeps_its_prefix(make_cases: MakeCases) -> None:
    text = words(printed(make_cases(*(command(12.5, param_n=size) for size in (1000, 2000)))))
    assert "param n rate (it/s) 95 % CI wall time (ms) n" in text


def test_commands_without_metrics_show_the_interval_of_their_time(make_cases: MakeCases) -> None:
    bare = {name: None for name in command(1) if name.startswith("metric_")}
    text = words(printed(make_cases(command(1, **bare))))
    assert "wall time (ms) 95 % CI n 29.1 28.8 - 29.6 3" in text


def test_commands_and_models_are_ranked_apart(make_cases: MakeCases) -> None:
    text = words(printed(make_cases(command(1), {"command": None})))
    assert "study: ./bench" in text
    assert "mlp training float32 pytorch cpu" in text
    assert "Workloads are ranked separately. They differ in:" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.345678, "12.35"),
        (0.00012345, "0.0001234"),
        (9999.9, "10,000"),
        (123456.7, "123,457"),
        (0.0, "0"),
        (-5, "-5"),
    ],
)
def test_a_figure_has_four_digits_or_its_whole_part(value: float, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (2**28, "256 MiB"),
        (999 * 2**20, "999 MiB"),
        (1000 * 2**20, "1000 MiB"),
        (1023 * 2**20, "1023 MiB"),
        (2**30 - 1, "1 GiB"),
        (1010 * 2**30, "1010 GiB"),
        (1500 * 2**30, "1.46 TiB"),
        (1500 * 2**40, "1500 TiB"),
        (None, "-"),
    ],
)
def test_a_size_has_the_unit_that_fits_it_when_it_is_rounded(size: int | None, text: str) -> None:
    assert memory(size) == text


def test_a_ranking_by_time_for_lack_of_a_direction_says_so(make_cases: MakeCases) -> None:
    known = {"metric_rate_it_per_s": Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=None)}
    cases = make_cases(command(1.0, batch_size=1), command(2.0, batch_size=2))
    results = Results(cases, cases, THROUGHPUT, ["batch_size"], Replicates({}), metrics=known)
    (note,) = ranking_notes(results)
    assert note.startswith("Commands are ranked by time, because the better direction of rate is unknown: ")
    assert note.endswith("--metric rate:higher or --metric rate:lower.")


def test_commands_that_are_ranked_separately_say_why_and_how_to_rank_them_together(make_cases: MakeCases) -> None:
    cases = make_cases(*(command(1.0, param_size=size, user_workload=f"size={size}") for size in (1, 2)))
    results = Results(cases, cases, THROUGHPUT, ["param_size"], Replicates({}))
    (note,) = ranking_notes(results)
    assert note.startswith(
        "Commands are ranked separately, because their workload may depend on: size. If it does not, use "
    )
    assert note.endswith("--same-workload size, or same_workload in the experiment.")


def test_commands_with_one_case_per_workload_share_a_table_without_bars(make_cases: MakeCases) -> None:
    rows = [command(rate, param_message_bytes=size, user_workload=f"size={size}") for rate, size in ((8, 1), (9, 2))]
    pair = [command(rate, batch_size=rate, experiment="other", user_workload=None) for rate in (3, 4)]
    text = printed(make_cases(*rows, *pair))
    assert "no other case to compare with" not in text
    table = words(text)
    assert "study: commands, one case per workload message bytes rate (it/s)" in table
    assert "1.0 8.00 7.00 - 9.00 29.1 3 2.0 9.00 8.00 - 10.00 29.1 3 Workloads are ranked" in table
    assert "4 4.00 3.00 - 5.00 29.1 3 ##########" in table
