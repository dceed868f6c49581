"""The pages of the levels name only keys, columns, commands and pages that exist."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from hpcbench.cli import group
from hpcbench.core.frameworks import FRAMEWORKS, STRATEGIES, TASKS
from hpcbench.models import catalog
from hpcbench.models.operators.catalog import OPERATORS
from hpcbench.models.optimizers import OPTIMIZERS
from hpcbench.node.worker.validation.networks import MOST_FLOPS
from tests.conftest import CommandLine

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted((DOCS / "levels").glob("*.md"))
NAMED = re.compile(r"(\w+) `([^`]+)`")
VALIDATION = "tests/node/worker/validation"
OPERATOR = "tests/models/operators/test_reference.py::test_the_result_is_that_of_plain_numpy"
ON_SLURM = "tests/cluster/test_frameworks_on_slurm.py::test_every_strategy_trains_equal_weights_across_two_nodes"
REAL_DATA = "tests/frameworks/test_real_data.py"
CURVES = "tests/collect/test_curves.py::test_a_training_has_curves_of_loss_and_both_accuracies"
# For each part of Deep500, in the words of the table, tests that fail if hpcbench does not have it.
TESTS: dict[str, str | tuple[str, ...]] = {
    "`test_op_forward`, `test_nativeop_forward`": f"{VALIDATION}/test_with_pytorch.py::"
    "test_a_fault_that_is_planted_in_a_function_of_pytorch_is_found",
    "`test_op_gradient`, `numerical_jacobian`": f"{VALIDATION}/test_gradient_check.py::"
    "test_a_gradient_that_is_wrong_by_1e_5_fails",
    "`L1Error`, `L2Error`, `MaxError`": f"{VALIDATION}/test_array_errors.py::"
    "test_the_norms_are_those_of_the_difference",
    "`NormDifference`": f"{VALIDATION}/test_array_errors.py::test_errors_in_units_in_the_last_place",
    "`DiffHeatmap`": "tests/report/charts/validation/test_heat_maps.py::test_each_case_has_a_figure_of_its_errors",
    "`VarHeatmap`": f"{VALIDATION}/test_repeatability.py::test_the_variance_shows_where_calls_differ",
    "`WallclockTime`": "tests/node/measurement/test_timing.py::test_a_sample_includes_the_wait_for_the_device",
    "reference operators: add": OPERATOR,
    "average, max and global pooling": OPERATOR,
    "batch normalization, training and inference": OPERATOR,
    "convolution": OPERATOR,
    "gemm, matmul": OPERATOR,
    "relu, softmax, sum": OPERATOR,
    "reshape": OPERATOR,
    "cross entropy, softmax cross entropy, mean squared error": OPERATOR,
    "custom operators in Python and C++": f"{VALIDATION}/test_own_operator.py::"
    "test_the_shipped_operator_in_cpp_is_built_and_passes",
    "samples of DeepBench": "tests/packaging/test_deepbench_data.py::test_the_experiments_plan_all_rows",
    "networks from ONNX files": "tests/frameworks/test_onnxruntime.py::test_outputs_are_those_of_numpy",
    "`create_model`: ResNet": "tests/frameworks/test_equal_work.py::test_a_framework_does_the_same_work_as_pytorch",
    "`test_executor_inference`": f"{VALIDATION}/test_networks.py::test_a_wrong_output_is_found_in_inference",
    "`test_executor_backprop`": f"{VALIDATION}/test_networks.py::test_each_planted_fault_is_found",
    "framework overhead": "tests/analysis/profiles/test_step_profile.py::"
    "test_the_sum_of_operators_against_the_whole_step_and_the_overhead",
    "memory": "tests/node/frameworks/pytorch/test_backward.py::"
    "test_saved_activations_are_the_arrays_of_the_backward_pass_alone",
    "`ExecutorEvent`": "tests/probe/test_callbacks.py::test_a_trainer_of_a_framework_records_its_steps",
    "`test_training`": f"{REAL_DATA}::test_every_framework_learns_to_read_digits",
    "`TrainingAccuracy`": CURVES,
    "`TestAccuracy`, `DatasetAccuracy`": CURVES,
    "`SummaryGeneratorEvent`": "tests/node/worker/tasks/test_time_to_accuracy.py::"
    "test_an_epoch_has_the_mean_loss_of_its_steps_and_the_accuracy_on_training_items",
    "divergence of trainings in two frameworks (study of Adam)": "tests/frameworks/test_trajectories.py::"
    "test_trainings_in_two_frameworks_diverge_by_rounding_alone",
    "optimizers: gradient descent, momentum, Adam, AdaGrad, RMSProp": "tests/frameworks/test_optimizers.py::"
    "test_all_optimizers_agree_with_the_reference",
    "`test_optimizer`": f"{VALIDATION}/test_update_check.py::test_each_planted_fault_is_found",
    "samplers: ordered and shuffled": f"{VALIDATION}/test_data_check.py::"
    "test_an_epoch_in_the_order_of_the_last_one_is_found",
    "`test_sampler`, `SamplerEventMetric`": (
        f"{VALIDATION}/test_data_check.py::test_items_that_are_not_delivered_once_are_found",
        f"{REAL_DATA}::test_the_task_input_pipeline_brings_an_epoch_of_training_without_a_network",
    ),
    "`DatasetBias`": f"{VALIDATION}/test_data_check.py::test_other_shares_of_classes_on_one_rank_have_a_small_p_value",
    "learning rate schedules by epoch or step": (
        "tests/models/test_schedules.py::test_milestones_set_the_rate_from_their_step_on",
        "tests/node/frameworks/pytorch/test_learning_rate.py::test_the_rate_changes_after_whole_epochs",
    ),
    "`AccuracyAbort`": "tests/node/worker/tasks/test_time_to_accuracy.py::"
    "test_an_epoch_is_as_many_steps_as_there_are_batches_and_the_first_one_is_timed",
    "CSV files, plots of loss and times, progress bar": (
        "tests/commands/analyse/test_report_files.py::test_tables_and_figures_and_csv_go_together",
        "tests/commands/shared/test_watch.py::test_a_local_sweep_is_watched_from_another_shell",
    ),
    "recipes with acceptable values": "tests/commands/run/test_recipe_of_pytorch.py::"
    "test_the_recipe_is_rejected_with_a_learning_rate_near_0",
    "`CommunicationVolume`": "tests/frameworks/test_communication.py::test_ranks_exchange_the_bytes_of_their_strategy",
    "distributed and partitioned samplers": f"{REAL_DATA}::test_two_ranks_deliver_each_item_once",
    "synchronous SGD by all-reduce (DSGD)": ON_SLURM,
    "consistent parameter server (PSSGD)": ON_SLURM,
    "inconsistent parameter server (ASGD)": ON_SLURM,
    "model averaging (MAVG)": "tests/node/frameworks/pytorch/test_averaging.py::"
    "test_ranks_average_their_weights_as_in_numpy",
    "decentralized SGD with neighbors (DPSGD)": "tests/node/frameworks/pytorch/test_averaging.py::"
    "test_ranks_average_their_weights_as_in_numpy",
    "Horovod": ON_SLURM,
    "accuracy of each scheme": "tests/analysis/training/test_equal_epochs.py::"
    "test_the_epoch_in_which_a_run_ends_by_reaching_the_target_does_not_count",
}


def rows() -> list[list[str]]:
    """Return the cells of the table of the parts of Deep500: level, name, what hpcbench has, where, page."""
    text = (DOCS / "levels" / "index.md").read_text(encoding="utf-8")
    table = text.partition("<!-- parts")[2].partition("<!-- end of parts -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def reference(page: str) -> set[str]:
    """Return the names in the first columns of the tables of a reference page."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


def has_option(text: str) -> bool:
    """Return whether `report --csv` is an option of a command."""
    command, option = text.split()
    found = group.get_command(click.Context(group), command)
    return found is not None and any(option in parameter.opts for parameter in found.params)


def known(kind: str, name: str) -> bool:
    kinds: dict[str, Any] = {
        "task": TASKS,
        "operator": OPERATORS,
        "model": catalog.MODELS,
        "framework": FRAMEWORKS,
        "strategy": STRATEGIES,
        "optimizer": {*OPTIMIZERS, *reference("parameters")},
        "parameter": reference("parameters"),
        "column": reference("columns"),
        "JSON": reference("report-json"),
        "record": reference("record"),
        "experiment": {file.stem for file in (ROOT / "configs" / "experiments").glob("*.yaml")},
        "test": {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")},
        "command": group.list_commands(click.Context(group)),
    }
    return has_option(name) if kind == "option" else name in kinds[kind]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1])
def test_each_part_of_deep500_names_what_exists(row: list[str]) -> None:
    level, _, ours, where, page = row
    assert level in "0123"
    assert where.startswith(("all", "`"))
    assert set(re.findall(r"`([^`]+)`", where)) <= set(FRAMEWORKS)
    named = NAMED.findall(ours)
    assert named
    assert [f"{kind} `{name}`" for kind, name in named] == ours.split(", ")
    assert [(kind, name) for kind, name in named if not known(kind, name)] == []
    assert page.startswith("[")


def test_each_part_of_deep500_has_tests() -> None:
    assert [row[1] for row in rows()] == list(TESTS)
    for test in (each for found in TESTS.values() for each in ((found,) if isinstance(found, str) else found)):
        file, function = test.split("::")
        assert f"\ndef {function}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_a_name_that_does_not_exist_would_be_found() -> None:
    for kind in ("task", "operator", "optimizer", "column", "JSON", "experiment", "command", "test"):
        assert not known(kind, "unheard_of")
    assert not known("option", "report --unheard-of")


def test_all_levels_have_parts_and_a_page() -> None:
    assert {row[0] for row in rows()} == set("0123")
    assert [page.stem for page in PAGES] == ["distributed", "index", "networks", "operators", "training"]
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.stem for page in PAGES if f"levels/{page.name}" not in navigation] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.is_file(), target
        headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_in_console_blocks_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ hpcbench (\w+)", text, re.MULTILINE)
    assert set(commands) <= set(group.list_commands(click.Context(group)))
    shipped = {file.stem for file in (ROOT / "configs" / "experiments").glob("*.yaml")}
    names = re.findall(r"^\$ hpcbench (?:sweep|profile) ([\w-]+)(?= |$)", text, re.MULTILINE)
    assert set(names) <= shipped


def planned(invoke: CommandLine, experiment: str, *where: str) -> list[dict[str, Any]]:
    data = invoke.workspace / "configs" / "data"
    data.mkdir(parents=True)
    shutil.copy(ROOT / "configs" / "data" / "digits.npz", data)
    plan = json.loads(invoke("sweep", experiment, *(where or ("--local",)), "--dry-run", "--json").stdout)
    assert not [warning for warning in plan["warnings"] if "is not built" not in warning]  # an environment
    return [case["parameters"] for case in plan["cases"]]


def test_the_experiment_levels_has_validated_cases_of_all_levels(invoke: CommandLine) -> None:
    cases = planned(invoke, "levels")
    alone = [case for case in cases if case["tasks_per_node"] == 1]
    for task in TASKS:
        assert [case for case in alone if case["task"] == task and case["validate"] == (task != "input_pipeline")], task
    several = {case["strategy"] for case in cases if case["tasks_per_node"] > 1}
    assert {"ddp", "fsdp", "local_sgd", "neighbors"} <= several
    threads = [case["intra_op_threads"] for case in cases if case["intra_op_threads"]]
    assert threads == [1, 2], "the trajectories of these two cases are compared"


def test_a_case_that_a_page_shows_is_one_case_of_the_experiment(invoke: CommandLine) -> None:
    cases = planned(invoke, "levels")
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = re.findall(r"^\$ hpcbench show levels (\S+)", text, re.MULTILINE)
    assert shown
    for words in shown:
        values = dict(part.split("=") for part in words.split(","))
        matching = [case for case in cases if all(str(case[key]) == value for key, value in values.items())]
        assert len(matching) == 1, words


def test_all_cases_of_the_example_of_networks_are_small_enough_to_be_validated(invoke: CommandLine) -> None:
    (block,) = re.findall(
        r"```yaml\n(.*?)```", (DOCS / "levels" / "networks.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (invoke.workspace / "example.yaml").write_text(block)
    cases = planned(invoke, "example.yaml")
    assert [case["task"] for case in cases] == ["inference", "backward", "training"]
    for case in cases:
        options = catalog.resolved_options(case["model"], case["model_options"])
        per_item = catalog.flops_per_item(case["model"], options, case["task"] != "inference")
        assert per_item * case["batch_size"] <= MOST_FLOPS, case["task"]


def test_the_experiment_strategies_compares_each_strategy_with_one_task(invoke: CommandLine) -> None:
    cases = planned(invoke, "strategies")
    pairs = {(case["framework"], case["strategy"]) for case in cases}
    assert pairs == {
        (name, strategy)
        for name, framework in FRAMEWORKS.items()
        for strategy in framework.strategies
        if framework.trains and (strategy != "horovod" or name == "pytorch")
    }
    assert {case["batch_size"] * case["tasks_per_node"] for case in cases} == {32}
    assert len({case["seed"] for case in cases}) == 8
    assert {case["tasks_per_node"] for case in cases if case["strategy"] != "single"} == {2}


def test_the_experiment_communication_has_each_strategy_on_two_and_four_tasks(invoke: CommandLine) -> None:
    cases = planned(invoke, "communication", "--site", "cpu-cluster")
    strategies = {strategy for framework in FRAMEWORKS.values() for strategy in framework.strategies} - {"single"}
    for tasks in (2, 4):
        assert {case["strategy"] for case in cases if case["nodes"] * case["tasks_per_node"] == tasks} == strategies
