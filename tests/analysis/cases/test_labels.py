"""Cases in words: what tells them apart, and what they share."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases import labels
from hpcbench.analysis.cases.labels import (
    LONGEST,
    MAX_NAMED,
    cell,
    label,
    label_of_known,
    phrase,
    plain,
    telling_apart,
    varying,
)
from tests.report.synthetic_results import case, results
from tests.workload_columns import WORKLOAD

USUAL: dict[str, Any] = {
    "case": "c1",
    "experiment": "study",
    "framework": "pytorch",
    "framework_version": "2.13.0",
    "command": None,
    "environment": None,
    "model": "lstm",
    "model_options": None,
    "user_workload": None,
    "task": "training",
    "device": "cpu",
    "dtype": "float32",
    "batch_size": 32,
    "nodes": 1,
    "cpus_per_task": 1,
    "intra_op_threads": None,
    **WORKLOAD,
    "math_mode": "highest",
    "parameter_count": 1234567,
    "flops_per_item": 10,
    "held_out": None,
    "time_median_s": 0.1,
    "param_kind": None,
}
ALL = [name for name in USUAL if name not in ("case", "time_median_s")]


def cases(*changes: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**USUAL, **each} for each in changes])


def told(*changes: dict[str, Any]) -> list[str]:
    return telling_apart(cases(*changes), ALL)


def test_what_differs_tells_apart_and_nothing_else() -> None:
    assert told({"nodes": 1}, {"nodes": 2}) == ["nodes"]
    assert told({}, {}) == []
    assert varying(cases({"nodes": 1}, {"nodes": 2}), ["nodes", "batch_size", "no such column"]) == ["nodes"]


def test_nothing_is_a_value_too() -> None:
    assert told({"intra_op_threads": None}, {"intra_op_threads": 2}) == ["intra_op_threads"]


def test_values_that_cannot_be_hashed_tell_apart() -> None:
    assert varying(cases({"param_kind": {"a": 1}}, {"param_kind": [1]}), ["param_kind"]) == ["param_kind"]


def test_what_follows_from_something_else_says_nothing_new() -> None:
    pairs = [{"framework": name, "environment": name} for name in ("pytorch", "jax")]
    assert told(*pairs) == ["framework"]
    shared = [{"nodes": nodes, "cpus_per_task": 64 // nodes} for nodes in (1, 2, 4)]
    assert told(*shared) == ["nodes"]


def test_the_batch_size_is_shown_even_if_it_follows_from_something_else() -> None:
    rows = [{"model_options": str(n), "batch_size": size} for n, size in enumerate((4, 2, 2))]
    assert told(*rows) == ["model_options", "batch_size"]


def test_what_differs_for_equal_values_of_the_other_does_not_follow_from_it() -> None:
    crossed = [{"nodes": nodes, "batch_size": size} for nodes in (1, 2) for size in (32, 64)]
    assert sorted(told(*crossed)) == ["batch_size", "nodes"]


def test_of_two_that_follow_from_each_other_one_is_left() -> None:
    both = [{"cpus_per_task": count, "batch_size": 32 * count} for count in (1, 2)]
    assert len(told(*both)) == 1


def test_the_version_of_a_framework_is_not_shown_beside_it() -> None:
    pairs = [{"framework": "pytorch", "framework_version": "2"}, {"framework": "jax", "framework_version": "0.10"}]
    assert told(*pairs) == ["framework"]


def test_what_a_command_was_made_of_stands_for_it() -> None:
    made = [{"framework": "command", "command": f"./b --n {n}", "nodes": n} for n in (1, 2)]
    assert told(*made) == ["nodes"]
    assert told(*({"framework": "command", "command": each} for each in ("./a", "./b"))) == ["command"]


def test_a_label_has_each_column_as_its_user_wrote_it() -> None:
    row = cases({"nodes": 2, "param_kind": "a b"}).iloc[0]
    assert label(row, ["nodes", "param_kind", "intra_op_threads"]) == "nodes=2 kind=a b intra_op_threads=-"
    assert label(row, []) == "c1"


def test_a_phrase_begins_with_the_framework() -> None:
    row = cases({"nodes": 2}).iloc[0]
    assert phrase(row, ["nodes", "framework", "batch_size"]) == "pytorch with nodes=2, batch_size=32"
    assert phrase(row, ["framework"]) == "pytorch"
    assert phrase(row, ["nodes"]) == "nodes=2"
    assert phrase(row, []) == "c1"


def test_a_long_value_is_cut_in_a_phrase() -> None:
    row = cases({"param_kind": "x" * 200}).iloc[0]
    assert phrase(row, ["param_kind"]) == f"kind={'x' * 28}...{'x' * 29}"
    paths = cases(*({"param_kind": f"/scratch/{'x' * 100}/{end}"} for end in ("base", "tuned")))
    assert phrase(paths.iloc[0], ["param_kind"]) != phrase(paths.iloc[1], ["param_kind"])
    assert len(phrase(row, ["param_kind"])) == len("kind=") + LONGEST


def test_of_many_columns_a_phrase_names_the_first_and_the_case() -> None:
    row = pd.Series({"case": "c1", **{f"param_{n}": n for n in range(50)}})
    said = ", ".join(f"{n}={n}" for n in range(MAX_NAMED))
    assert phrase(row, [f"param_{n}" for n in range(50)]) == f"{said}, and {50 - MAX_NAMED} more (case c1)"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (float("nan"), "-"), (pd.NA, "-"), (0, "0"), (False, "False"), ("", ""), (1.5, "1.5")],
)
def test_what_is_not_known_is_a_dash(value: Any, text: str) -> None:
    assert cell(value) == text


def test_only_the_mark_of_a_tag_is_left_out() -> None:
    assert plain("param_nodes") == "nodes"
    assert plain("param_param_x") == "param_x"
    assert plain("stage_param_x") == "stage_param_x"


def firsts(works: list[pd.DataFrame]) -> list[dict[str, Any]]:
    return [cases.to_dict("records")[0] for cases in works]


def titles(works: list[pd.DataFrame], short: list[str]) -> list[str]:
    return labels.titles(works, firsts(works), short)


def short_titles(works: list[pd.DataFrame]) -> list[str]:
    return labels.short_titles(works, firsts(works))


def test_a_title_says_what_cases_share() -> None:
    same, others = cases({}, {"nodes": 2}), cases({}, {"framework": "jax", "batch_size": 64})
    assert titles([same, others], ["a", "b"]) == [
        "lstm training float32 pytorch cpu, batch size 32, 1,234,567 parameters",
        "lstm training float32 cpu, 1,234,567 parameters",
    ]
    assert titles([same, same], ["a", "b"])[0].endswith(" parameters (a)")


def test_commands_have_the_title_of_their_experiment() -> None:
    one, two = ({"framework": "command", "command": each} for each in ("./a", "./b"))
    assert titles([cases(one, one), cases(one, two)], ["", ""]) == ["study: ./a", "study: commands"]
    assert short_titles([cases(one), cases({})]) == ["study", ""]


def test_a_short_title_says_in_what_work_differs() -> None:
    assert short_titles([cases({}), cases({"task": "inference"}), cases({"model": "mlp"})]) == [
        "lstm training",
        "lstm inference",
        "mlp training",
    ]
    assert short_titles([cases({}, {"nodes": 2})]) == [""]
    assert short_titles([]) == []


def test_an_optimizer_is_in_the_title_of_training_steps_alone() -> None:
    inference = {"task": "inference"}
    found = short_titles([cases({"optimizer": "adam"}), cases({}), cases(inference)])
    assert found == ["training adam", "training momentum", "inference"]
    assert short_titles([cases({}), cases({**inference, "optimizer": "adam"})]) == ["training", "inference"]
    reaching = {"task": "time_to_accuracy", "optimizer": "adam"}
    assert short_titles(
        [cases({**reaching, "target_accuracy": 0.9}), cases({**reaching, "target_accuracy": 0.95})]
    ) == [
        "0.9",
        "0.95",
    ]


def test_work_of_one_name_is_told_apart_by_the_users_own_words() -> None:
    wide, narrow = ({"param_kind": kind, "parameter_count": count} for kind, count in (("wide", 300), ("narrow", 100)))
    assert short_titles([cases(wide, wide), cases(narrow)]) == ["kind=wide", "kind=narrow"]
    inference = {**wide, "task": "inference"}
    assert short_titles([cases(wide), cases(narrow), cases(inference)]) == [
        "training with kind=wide",
        "training with kind=narrow",
        "inference with kind=wide",
    ]
    assert short_titles([cases(wide, {**wide, "param_kind": "other"}), cases(narrow)]) == [
        "300 parameters",
        "100 parameters",
    ]  # where the tag is a choice among the cases


def test_work_of_one_name_is_told_apart_by_its_counts() -> None:
    workloads = [cases({"parameter_count": p, "flops_per_item": f}) for p, f in ((100, 100), (100, 200), (300, 300))]
    assert short_titles(workloads) == [
        "100 parameters and 100 FLOPs per item",
        "100 parameters and 200 FLOPs per item",
        "300 parameters",
    ]
    learning = [
        cases({"model": model, "held_out": part}) for model, part in (("mlp", 0.2), ("mlp", 0.5), ("lstm", 0.2))
    ]
    assert short_titles(learning) == ["mlp with 0.2 of the data held out", "mlp with 0.5 of the data held out", "lstm"]


def test_operators_are_told_apart_by_their_sizes_and_missing_values_are_left_out() -> None:
    gemm = {"model": None, "task": "operator", "operator": "gemm", "phase": "forward"}
    sizes = [{**gemm, "flops_per_item": n, "sizes": f'{{"k": 512, "n": {n}}}'} for n in (16, 32)]
    assert short_titles([cases(each) for each in sizes]) == ["k=512 n=16", "k=512 n=32"]
    assert short_titles([cases(gemm), cases({})]) == ["operator gemm forward", "lstm training"]


def test_a_title_names_a_case_by_its_known_values_and_never_by_its_id() -> None:
    row = cases({"nodes": 2, "sizes": '{"k": 512}', "model": None}).iloc[0]
    assert label_of_known(row, ["nodes", "sizes", "model", "intra_op_threads"]) == "nodes=2 k=512"
    assert label(row, ["sizes"]) == 'sizes={"k": 512}', "as it is written for commands"
    assert label_of_known(row, ["model"]) == ""
    (alone,) = results(case(0.1)).workloads
    assert results(case(0.1)).name_in_title(alone.cases.iloc[0]) == ""


def test_a_title_has_no_parameter_that_cases_of_other_tasks_only_lack() -> None:
    operator = case(0.1, task="operator", model=None, operator="gemm", sizes="{}", intra_op_threads=None, nodes=2)
    found = results(operator, case(0.2, task="inference", intra_op_threads=8, nodes=1))
    network = next(work for work in found.workloads if work.cases["task"].iat[0] == "inference")
    assert network.shown == ["nodes"]
    assert "intra_op_threads" not in found.name_in_title(network.cases.iloc[0])
    assert "nodes=1" in found.name_in_title(network.cases.iloc[0])


def test_a_single_case_is_not_told_apart_from_cases_of_other_tasks() -> None:
    inference = [case(0.1, task="inference", model=model, batch_size=size) for model, size in (("mlp", 8), ("lstm", 4))]
    found = results(*inference, case(0.2, task="training", strategy="ddp", batch_size=2, tasks_per_node=2))
    assert {"strategy", "batch_size", "tasks_per_node"} <= set(found.shown)
    alone = next(work for work in found.workloads if work.cases["model"].iat[0] == "lstm")
    assert alone.shown == ["batch_size"]
