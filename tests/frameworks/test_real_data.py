"""Real data: every framework's input pipeline brings the same items, and every framework learns from them."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from mlperf_logging.compliance_checker.mlp_parser import parse_file
from PIL import Image
from sklearn.datasets import load_digits

from hpcbench.core import frameworks

FRAMEWORKS = list(frameworks.TRAINING_FRAMEWORKS)
# Keras' pipeline is the same over each backend.
EACH = [
    pytest.param(name, marks=[pytest.mark.long] * (name in ("keras-jax", "keras-tensorflow"))) for name in FRAMEWORKS
]
CLASSES, SIZE, PER_CLASS = 3, 32, 7
PARAMETERS = {
    "task": "training",
    "strategy": "single",
    "device": "cpu",
    "dtype": "float32",
    "seed": 3,
    "optimizer": {"name": "momentum"},
    "held_out": 0.3,
    "tasks_per_node": 1,
    "nodes": 1,
    "intra_op_threads": 1,
    "inter_op_threads": None,
    "compile_mode": None,
}


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,797 handwritten digits of 8 x 8, from scikit-learn."""
    found = load_digits()
    path = tmp_path_factory.mktemp("digits") / "digits.npz"
    np.savez(path, x=(found.data / 16).astype(np.float32), y=found.target)
    return path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of coloured noise for each of three classes, as PNG of the size that the network takes."""
    folder = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(1)
    for label in range(CLASSES):
        (folder / f"class{label}").mkdir()
        for number in range(PER_CLASS):
            pixels = generator.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
            Image.fromarray(pixels).save(folder / f"class{label}" / f"{number}.png")
    return folder


@pytest.fixture
def brought(ask, made_once, digits, pictures):
    """What the pipeline of a framework brings of the digits and of the pictures."""
    of_digits = {"data": {"npz": str(digits)}, "model": "mlp", "batch_size": 50}
    of_pictures = {"data": {"imagefolder": str(pictures)}, "model": "resnet50", "batch_size": 4}
    asked = {
        "digits": {**of_digits, "model_options": {"input_size": 64, "hidden_size": 16}},
        "pictures": {**of_pictures, "model_options": {"image_size": SIZE, "classes": CLASSES}},
    }

    def bring(framework: str) -> dict[str, dict[str, np.ndarray]]:
        def fill(folder: Path) -> None:
            given = {name: {**PARAMETERS, **parameters} for name, parameters in asked.items()}
            (folder / "parameters.json").write_text(json.dumps(given))
            execution = frameworks.FRAMEWORKS[framework].executions[0]
            ask("pipelines", framework, execution, folder / "parameters.json", folder, framework=framework)

        folder = made_once(f"brought-{framework}", fill)
        return {name: dict(np.load(folder / f"{name}.npz")) for name in asked}

    return bring


@pytest.mark.parametrize("framework", EACH)
def test_an_npz_file_comes_whole_in_the_held_out_part_and_shuffled_in_training(framework, brought):
    got = brought(framework)["digits"]
    assert got["counted"] == round(0.3 * 1797)
    assert got["logits"].shape == (50, 10)
    images = load_digits().data.astype(np.float32) / 16
    of_image = {image.tobytes(): label for image, label in zip(images, load_digits().target, strict=True)}
    for part in ("tested", "trained"):
        pairs = zip(got[f"{part}_inputs"].astype(np.float32), got[f"{part}_labels"], strict=True)
        assert all(of_image[item.tobytes()] == label for item, label in pairs), "an item lost its label"
    tested = {item.tobytes() for item in got["tested_inputs"][: got["counted"]].astype(np.float32)}
    trained = {item.tobytes() for item in got["trained_inputs"].astype(np.float32)}
    assert len(tested) == got["counted"]
    assert not tested & trained, "what is tested must not be trained on"
    first, second = np.split(got["trained_labels"], 2)
    assert not np.array_equal(first, second), "each epoch has an order of its own"
    assert got["check"].tolist() == [1250, 0, 0, 8], "of 1,258 items for training, in batches of 50"
    assert got["reshuffled"]


@pytest.mark.parametrize("framework", EACH)
def test_a_folder_of_pictures_comes_with_the_labels_of_its_folders(framework, brought, pictures):
    got = brought(framework)["pictures"]
    files = [(file, label) for label in range(CLASSES) for file in sorted((pictures / f"class{label}").iterdir())]
    known = {}
    for file, label in files:
        pixels = np.asarray(Image.open(file), np.float32).transpose(2, 0, 1) / np.float32(255)
        known[np.round(pixels, 4).tobytes()] = label
    assert got["counted"] == 6
    assert got["check"].tolist() == [12, 0, 0, 3], "of 15 pictures, in batches of 4"
    for part in ("tested", "trained"):
        assert got[f"{part}_inputs"].shape[1:] == (3, SIZE, SIZE)
        for item, label in zip(got[f"{part}_inputs"], got[f"{part}_labels"], strict=True):
            assert known[np.round(item, 4).astype(np.float32).tobytes()] == label


@pytest.mark.parametrize("framework", EACH)
def test_the_task_input_pipeline_brings_an_epoch_of_training_without_a_network(framework, brought):
    for name in ("digits", "pictures"):
        got = brought(framework)[name]
        alone, trained = got["alone_inputs"], got["trained_inputs"]
        assert got["alone_weights"] == 0
        assert alone.shape == (len(trained) // 2, *trained.shape[1:])
        first, trained, tested = (
            {item.tobytes() for item in got[part]} for part in ("alone_inputs", "trained_inputs", "tested_inputs")
        )
        assert len(first) == len(alone), "each item at most once in an epoch"
        assert len(first & trained) >= 0.5 * len(first), "an epoch leaves out what fills no batch"
        assert not first & tested


def test_every_framework_learns_to_read_digits(with_environments, digits):
    command_line = with_environments(*FRAMEWORKS)
    experiment = command_line.experiment(
        parameters={
            "task": "time_to_accuracy",
            "target_accuracy": 0.95,
            "optimizer.learning_rate": 0.1,
            "data": {"npz": str(digits)},
            "model_options": {"input_size": 64, "hidden_size": 64},
        },
        matrix={"framework": FRAMEWORKS},
    )
    command_line("sweep", experiment, "--local", "--site", command_line.site(environments={}))
    rows = command_line.report()
    assert {row["framework"] for row in rows} == set(FRAMEWORKS)
    assert all(float(row["accuracy"]) >= 0.95 and float(row["time_median_s"]) > 0 for row in rows)
    epochs = [int(row["epochs"]) for row in rows]
    assert max(epochs) <= 3 * min(epochs), "equal weights and equal steps learn alike"


def test_init_writes_the_digits_of_scikit_learn(invoke):
    invoke("init")
    with np.load(invoke.workspace / "configs" / "data" / "digits.npz") as data:
        assert np.array_equal(data["x"], load_digits().data / 16)
        assert np.array_equal(data["y"], load_digits().target)


def test_the_shipped_experiment_reaches_its_target(with_environments):
    command_line = with_environments("pytorch")
    command_line("init")
    one_case = ("optimizer=adam", "batch_size=64", "measure.repetitions=1", "measure.retries=0")
    command_line("sweep", "digits", "--local", *(f"--set={setting}" for setting in one_case))
    (record,) = command_line.records()
    assert record["status"] == "completed", record["error"]
    assert record["learning"]["curve"][-1]["accuracy"] >= 0.95
    (row,) = command_line.report()
    assert (row["optimizer"], row["batch_size"]) == ("adam", "64")


@pytest.mark.long
@pytest.mark.parametrize(
    ("framework", "strategy"),
    [("pytorch", "fsdp"), ("jax", "data_parallel"), ("tensorflow", "multi_worker_mirrored"), ("mxnet", "kvstore")],
)
def test_two_ranks_deliver_each_item_once(with_environments, digits, framework, strategy):
    command_line = with_environments(framework)
    experiment = command_line.experiment(
        parameters={
            "framework": framework,
            "strategy": strategy,
            "tasks_per_node": 2,
            "oversubscribe": True,
            "validate": True,
            "batch_size": 50,
            "data": {"npz": str(digits)},
            "model_options": {"input_size": 64, "hidden_size": 16},
        },
    )
    command_line("sweep", experiment, "--local", "--site", command_line.site(environments={}))
    (record,) = command_line.records()
    assert record["status"] == "completed", record["error"]
    data = record["validation"]["data"]
    assert (data["items"], data["repeated_items"], data["missing_items"], data["dropped_items"]) == (1400, 0, 0, 38)
    (row,) = command_line.report()
    assert (row["validation"], row["reshuffled"]) == ("passed", "True")
    assert float(row["class_bias_p_value"]) > 0.01


@pytest.mark.torch
def test_a_target_that_is_missed_is_a_failure_that_says_how_far_it_came(command_line, digits):
    experiment = command_line.experiment(
        parameters={
            "task": "time_to_accuracy",
            "target_accuracy": 0.99,
            "max_epochs": 2,
            "data": {"npz": str(digits)},
            "model_options": {"input_size": 64, "hidden_size": 16},
        },
    )
    command_line("sweep", experiment, "--local", expect=1)
    (record,) = command_line.records()
    assert record["status"] == "failed"
    assert "the best accuracy was" in record["error"]["message"]
    assert [point["epoch"] for point in record["learning"]["curve"]] == [1, 2]
    assert record["measurements"] is None


@pytest.mark.torch
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs; not run: two models at the same time")
def test_of_two_concurrent_models_one_misses_its_target_and_the_other_counts(command_line, digits):
    experiment = command_line.experiment(
        parameters={
            "task": "time_to_accuracy",
            "target_accuracy": 0.88,
            "max_epochs": 3,
            "seed": 3,
            "batch_size": 16,
            "data": {"npz": str(digits)},
            "model_options": {"input_size": 64, "hidden_size": 16},
            "cpus_per_task": 2,
            "intra_op_threads": 1,
        },
        matrix={"instances": [1, 2]},
        measure={"retries": 0},
    )
    command_line("sweep", experiment, "--local", "--no-fail-fast", expect=1)
    alone, both = sorted(command_line.records(), key=lambda record: record["parameters"]["instances"])
    assert (alone["status"], both["status"]) == ("failed", "completed"), both["error"]
    missed, reached = both["models"]
    assert [missed["seed"], reached["seed"]] == [3, 4]
    accuracies = [[point["accuracy"] for point in each["curve"]] for each in (alone["learning"], missed, reached)]
    assert accuracies[0] == accuracies[1], "the first of several models trains as it does alone"
    assert accuracies[1] != accuracies[2]
    assert both["measurements"]["times_s"] == [reached["elapsed_s"]]
    assert reached == both["learning"]
    command_line("report", "--mllog", "logs", "--csv", "cases.csv", expect=1)
    (row,) = (row for row in csv.DictReader((command_line.workspace / "cases.csv").open()) if row["instances"] == "2")
    assert (row["models"], float(row["models_trained"])) == ("2", 1)
    assert float(row["accuracy"]) == reached["accuracy"]
    assert float(row["models_per_minute"]) == pytest.approx(60 / reached["elapsed_s"])
    logs = sorted((command_line.workspace / "logs").glob("*/*/**/result_*.txt"))
    assert sorted(log.read_text().count('"success"') for log in logs) == [0, 0, 1]
    assert all(not parse_file(str(log), ruleset="3.0.0")[1] for log in logs)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        ({"x": np.zeros((9, 5), np.float32)}, {}, "no array 'y'"),
        ({"x": np.zeros((9, 5), np.float32), "y": np.zeros(9, int)}, {}, "items of shape (5,), but the model requires"),
        ({"x": np.zeros((9, 4), np.float32), "y": np.full(9, 10)}, {}, "labels from 10 to 10"),
        ({"x": np.zeros((9, 4), np.float32), "y": np.zeros(8, int)}, {}, "one whole number for each"),
        ({"x": np.full((9, 4), np.nan), "y": np.zeros(9, int)}, {}, "finite numbers"),
        ({"x": np.zeros((9, 4), np.float32), "y": np.zeros(9, int)}, {"batch_size": 64}, "fewer than a batch of 64"),
    ],
)
def test_data_that_do_not_fit_are_a_failure_that_says_in_what(command_line, arrays, options, words):
    np.savez(command_line.workspace / "data.npz", **arrays)
    parameters = {"data": {"npz": "data.npz"}, "model_options": {"input_size": 4}, "batch_size": 2, **options}
    command_line("sweep", command_line.experiment(parameters=parameters), "--local", expect=1)
    (record,) = command_line.records()
    assert record["status"] == "failed"
    assert words in record["error"]["message"]


@pytest.mark.torch
def test_data_that_are_not_there_are_refused_before_anything_is_submitted(command_line):
    experiment = command_line.experiment(parameters={"data": {"npz": "absent.npz"}})
    refused = command_line("sweep", experiment, "--local", expect=2)
    assert re.search("data file '.*' not found", refused.stderr)
    assert not list(command_line.workspace.glob("jobs/*"))
