"""MLPerf logs, read and checked by MLPerf's own package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlperf_logging import compliance_checker
from mlperf_logging.compliance_checker import mlp_compliance, mlp_parser
from mlperf_logging.mllog import constants

from hpcbench.core.record import Record
from hpcbench.report.export import mllog
from tests.fixtures.records import a_training

MakeRecord = Callable[..., Record]
RULES = "3.0.0"  # of MLPerf HPC
CHECKERS = Path(compliance_checker.__file__).parent
PARAMETERS: dict[str, Any] = {
    "task": "time_to_accuracy",
    "target_accuracy": 0.9,
    "data": {"npz": "digits.npz"},
    "batch_size": 16,
    "optimizer": {"name": "adamw", "learning_rate": 0.002, "gradient_accumulation_steps": 2},
}
WORK = {"flops_per_item": 6_000, "items_per_epoch": 1_000, "items_per_step": None}
# What a record cannot know: they describe a submission to MLPerf, or the state of a cache.
OF_SUBMISSIONS = {"submission_org", "submission_division", "submission_status", "cache_clear"}


@pytest.fixture
def trained(make_record: MakeRecord) -> MakeRecord:
    def make(*trainings: dict[str, Any], run: int = 1, **changes: Any) -> Record:
        several = list(trainings) if len(trainings) > 1 else []
        given = {"parameters": {**PARAMETERS, **changes}, "work": WORK, "started_at": "2023-11-14T22:13:10.500+00:00"}
        return make_record(0, run, learning=trainings[0], models=several, **given)

    return make


def parsed(path: Path) -> list[Any]:
    lines, errors = mlp_parser.parse_file(str(path), ruleset=RULES)
    assert errors == []
    return lines


def complaints(path: Path, config: str) -> set[str]:
    """What MLPerf's checker says against a log by these rules."""
    checker = mlp_compliance.make_checker("hpc", RULES, quiet=False, werror=True)
    mlp_compliance.main(str(path), config, checker)
    return {*checker.overwritable, *checker.not_overwritable}


def values(lines: list[Any], key: str) -> list[Any]:
    return [line.value["value"] for line in lines if line.key == key]


def test_a_log_has_the_settings_and_the_events_of_a_training_with_their_times(
    trained: MakeRecord, tmp_path: Path
) -> None:
    (path,) = mllog.write([trained(a_training([0.5, 0.92], 4.0, seed=7))], tmp_path)
    lines = parsed(path)
    start_ms = 1_700_000_000_000
    events = [(line.key, line.timestamp - start_ms) for line in lines if line.key.endswith(("_start", "_stop"))]
    assert events == [
        *[("init_start", -9_500), ("init_stop", 0), ("run_start", 0)],
        *[("epoch_start", 0), ("epoch_stop", 3_000), ("eval_start", 3_000), ("eval_stop", 4_000)],
        *[("epoch_start", 4_000), ("epoch_stop", 7_000), ("eval_start", 7_000), ("eval_stop", 8_000)],
        ("run_stop", 8_000),
    ]
    assert values(lines, "eval_accuracy") == [0.5, 0.92]
    epochs = [line.value["metadata"]["epoch_num"] for line in lines if line.key == "eval_accuracy"]
    assert epochs == [1, 2]
    assert lines[-1].value["metadata"] == {"status": constants.SUCCESS}
    known = {"seed": 7, "global_batch_size": 32, "train_samples": 1_000, "eval_samples": 250, "opt_name": "adamw"}
    known |= {"opt_base_learning_rate": 0.002, "opt_weight_decay": 0.01, "submission_benchmark": "mlp"}
    assert {key: values(lines, key) for key in known} == {key: [value] for key, value in known.items()}


@pytest.mark.parametrize("unit", ["steps", "epochs"])
def test_a_schedule_has_the_keys_of_its_unit(trained: MakeRecord, tmp_path: Path, unit: str) -> None:
    rate = {"schedule": "steps", "unit": unit, "peak": 0.1, "warmup_steps": 5, "milestones": [[81, 0.01], [122, 0.001]]}
    (path,) = mllog.write(
        [trained(a_training(), optimizer={**PARAMETERS["optimizer"], "learning_rate": rate})], tmp_path
    )
    found = {line.key: line.value["value"] for line in parsed(path) if line.key.startswith("opt_learning_rate_")}
    warmup, boundary = f"opt_learning_rate_warmup_{unit}", f"opt_learning_rate_decay_boundary_{unit}"
    assert found == {warmup: 5, boundary: [81, 122]}
    assert found.keys() <= {value for value in vars(constants).values() if isinstance(value, str)}


def test_the_keys_are_those_of_mlperf(trained: MakeRecord, tmp_path: Path) -> None:
    (path,) = mllog.write([trained(a_training())], tmp_path)
    named = {value for value in vars(constants).values() if isinstance(value, str)}
    of_rules = {"number_of_nodes", "accelerators_per_node", "opt_betas", "opt_epsilon"}  # of MLPerf HPC
    assert {line.key for line in parsed(path)} - named <= of_rules


def test_a_model_that_missed_its_target_has_an_aborted_run(trained: MakeRecord, tmp_path: Path) -> None:
    (path,) = mllog.write([trained(a_training([0.3], reached=False))], tmp_path)
    assert parsed(path)[-1].value["metadata"] == {"status": constants.ABORTED}


def test_the_official_rules_lack_only_what_a_record_cannot_know(trained: MakeRecord, tmp_path: Path) -> None:
    (path,) = mllog.write([trained(a_training([0.5, 0.92]))], tmp_path)
    assert complaints(path, f"hpc_{RULES}/common.yaml") == OF_SUBMISSIONS


def test_all_other_rules_are_kept(trained: MakeRecord, tmp_path: Path) -> None:
    """The common rules of MLPerf HPC and those of its closed division, without those on submissions and benchmarks.

    The rules of single benchmarks do not apply: they are for the models of MLPerf HPC.
    """
    (path,) = mllog.write([trained(a_training([0.5, 0.92]))], tmp_path)
    common = yaml.safe_load((CHECKERS / f"hpc_{RULES}" / "common.yaml").read_text())
    division = yaml.safe_load((CHECKERS / f"hpc_{RULES}" / "closed_common.yaml").read_text())
    others = {*OF_SUBMISSIONS, "submission_benchmark"}
    rules = [each for each in [*common, *division] if each.get("KEY", {}).get("NAME") not in others]
    config = tmp_path / "rules.yaml"
    config.write_text(yaml.safe_dump(rules))
    assert complaints(path, str(config)) == set()
    lines = path.read_text().splitlines(keepends=True)
    for key in ("run_start", "eval_start", "train_samples", "init_stop"):
        path.write_text("".join(line for line in lines if f'"{key}"' not in line))
        assert complaints(path, str(config)), f"the checker notices that {key} is missing"


def test_each_run_of_a_case_and_each_concurrent_model_of_a_run_has_a_file(trained: MakeRecord, tmp_path: Path) -> None:
    records = [trained(a_training(), run=1), trained(a_training(), run=2)]
    records.append(trained(a_training(seed=0), a_training([0.1], seed=1, reached=False), run=3))
    written = mllog.write(records, tmp_path)
    folder = tmp_path / records[0].sweep / records[0].case_id
    assert [path.relative_to(folder).as_posix() for path in written] == [
        *["result_0.txt", "result_1.txt", "run_3/result_0.txt", "run_3/result_1.txt"]
    ]
    assert [values(parsed(path), "seed") for path in written[2:]] == [[0], [1]]


def test_ranks_that_share_a_model_add_up_to_its_batch(trained: MakeRecord, tmp_path: Path) -> None:
    (path,) = mllog.write([trained(a_training(), strategy="ddp", nodes=2, tasks_per_node=3)], tmp_path)
    assert values(parsed(path), "global_batch_size") == [16 * 2 * 6]
    assert values(parsed(path), "number_of_nodes") == [2]


def test_names_of_records_are_no_paths(trained: MakeRecord, make_record: MakeRecord, tmp_path: Path) -> None:
    for name in ("..", "../outside", "/tmp/outside", ""):
        assert mllog.write([replace(trained(a_training()), sweep=name)], tmp_path) == []
    assert mllog.write([make_record()], tmp_path) == [], "other tasks have no log"
    assert list(tmp_path.iterdir()) == []
