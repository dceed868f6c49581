"""`hpcbench predictor`: fit, evaluate and show, with small made-up data."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hpcbench.commands.shared.predictions.model_file import MOST_BYTES
from tests.conftest import CommandLine
from tests.predict.sets import raw_files

DEVICES = raw_files.devices()


def operators(devices: tuple[str, ...], seed: int, rows: int = 30) -> pd.DataFrame:
    """Return products on devices, whose times are a roofline with some noise."""
    random = np.random.default_rng(seed)
    found = []
    for name in devices:
        sheet = DEVICES[DEVICES["device"] == name].iloc[0]
        m, n, k = (2 ** random.integers(6, 12, rows) for _ in range(3))
        flops, moved = 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n)
        seconds = 2e-5 + np.maximum(flops / (0.7e9 * sheet["fp32_gflops"]), moved / (0.8e9 * sheet["memory_gb_per_s"]))
        sizes = {"b": 1, "m": m, "n": n, "k": k, "flops": flops, "bytes": moved}
        common = {"device": name, "op": "linear", "dtype": "float32"}
        found.append(pd.DataFrame({**common, **sizes, "latency_ms": 1e3 * seconds * random.lognormal(0, 0.05, rows)}))
    return pd.concat(found, ignore_index=True)


def write(folder: Path, **tables: pd.DataFrame) -> str:
    folder.mkdir()
    for name, table in {"devices": DEVICES, **tables}.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return str(folder)


@pytest.fixture
def train(invoke: CommandLine) -> str:
    return write(invoke.workspace / "train", operators_time=operators(("GPU A", "GPU B"), 1))


def test_models_are_fitted_written_and_shown(invoke: CommandLine, train: str) -> None:
    fitted = invoke("predictor", "fit", train)
    assert "wrote models fitted on 60 rows to" in fitted.stderr
    assert "hpcbench predictor show" in fitted.stderr
    shown = invoke("predictor", "show").stdout
    assert shown.startswith("data: 60 rows, SHA-256 ")
    assert "fitted with: hpcbench " in shown
    assert "GPU A" in shown
    as_json = json.loads(invoke("predictor", "show", "--json").stdout)
    assert as_json["rows"] == {"gemm": {"GPU A": 30, "GPU B": 30}}
    assert as_json["typical_errors"][0]["kind"] == "gemm"
    compared = invoke("predictor", "show", "--data", train)
    assert compared.stdout == shown
    assert f"fitted on the data in {train}" in compared.stderr
    assert "power" not in shown, "no power was measured"


def test_a_source_that_is_named_twice_counts_once(invoke: CommandLine, train: str) -> None:
    assert "wrote models fitted on 60 rows to" in invoke("predictor", "fit", train, train).stderr


def test_a_model_file_that_is_too_large_is_refused(invoke: CommandLine) -> None:
    file = invoke.workspace / "fleet.json"
    with file.open("wb") as opened:
        opened.truncate(MOST_BYTES + 1)
    said = invoke("predictor", "show", "fleet.json", expect=2).stderr
    assert "fleet.json" in said
    assert "it is larger than 256 MB" in said
    assert "hint: write one: hpcbench predictor fit SWEEP|FILE|FOLDER -o fleet.json" in said


def test_a_model_file_of_other_data_or_damaged_is_refused(invoke: CommandLine, train: str) -> None:
    invoke("predictor", "fit", train, "-o", "mine.json")
    file = invoke.workspace / "mine.json"
    other = write(invoke.workspace / "other", operators_time=operators(("GPU A",), 2))
    assert "error: fitted on other data: " in one_line(
        invoke("predictor", "show", "mine.json", "--data", other, expect=2).stderr
    )
    text = file.read_text()
    for content, message in (
        (text[: len(text) // 2], "damaged model file"),
        (text[: text.index("schema")] + "[" * 100_000, "damaged model file"),
        (text.replace('"gemm": {"GPU A": 30', '"gemm": {"GPU A": 31'), "damaged model file: its checksum is wrong"),
        (text.replace('"schema": 3', '"schema": 99'), "model file of schema 99; this hpcbench reads schema 3"),
    ):
        file.write_text(content)
        error = invoke("predictor", "show", "mine.json", expect=2).stderr
        assert message in error
        assert "hint: fit it again: hpcbench predictor fit" in error
    assert "model file not found" in invoke("predictor", "show", "none.json", expect=2).stderr


@pytest.mark.parametrize(
    "content",
    [
        b"name: an experiment",
        b'{"a": 1}',
        b"[]",
        b"device,op,latency_ms\nl40s,gemm,1.0\n",
        b"",
        b"\x80\x04\x95 a pickle",
    ],
)
def test_the_hint_for_another_file_is_to_write_a_model(invoke: CommandLine, content: bytes) -> None:
    (invoke.workspace / "mine.json").write_bytes(content)
    error = one_line(invoke("predictor", "show", "mine.json", expect=2).stderr)
    assert "error: not a model file written by hpcbench predictor fit" in error
    assert "mine.json" in error
    assert "hint: write one: hpcbench predictor fit SWEEP|FILE|FOLDER -o fleet.json" in error
    assert "again" not in error


def test_a_folder_is_not_a_model_file(invoke: CommandLine, train: str) -> None:
    error = one_line(invoke("predictor", "show", train, expect=2).stderr)
    assert "error: not a model file written by hpcbench predictor fit: it is a directory" in error
    assert "hint: write one: hpcbench predictor fit" in error


def test_evaluate_compares_and_writes_each_prediction(invoke: CommandLine, train: str) -> None:
    rows = operators(("GPU A",), 3, rows=12)
    unknown = rows.head(1).assign(device="GPU X")
    test = write(invoke.workspace / "test", operators_time=pd.concat([rows, unknown], ignore_index=True))
    done = invoke("predictor", "evaluate", "--train", train, "--test", test, "--predictions", "p.csv")
    assert "wrote 13 predictions to p.csv" in done.stderr
    assert "operators_time.csv latency_ms" in done.stdout
    assert "refused: 1 prediction: description of device 'GPU X' not found" in done.stdout
    lines = pd.read_csv(invoke.workspace / "p.csv")
    assert list(lines.columns) == ["file", "row", "quantity", "predicted", "lower", "upper", "reason"]
    assert list(lines["row"]) == list(range(13))
    answered = lines.head(12)
    assert (answered["lower"] < answered["predicted"]).all()
    assert (answered["predicted"] < answered["upper"]).all()
    assert np.median(np.abs(answered["predicted"] / rows["latency_ms"] - 1)) < 0.3
    assert lines["predicted"].isna().tolist() == [False] * 12 + [True]


def test_evaluate_needs_no_targets_to_predict(invoke: CommandLine, train: str) -> None:
    rows = operators(("GPU B",), 3, rows=3).drop(columns="latency_ms")
    test = write(invoke.workspace / "test", operators_time=rows)
    done = invoke("predictor", "evaluate", "--train", train, "--test", test, "--predictions", "-")
    assert done.stdout.startswith("file,row,quantity,predicted,lower,upper,reason\noperators_time.csv,0,latency_ms,")
    found = json.loads(invoke("predictor", "evaluate", "--train", train, "--test", test, "--json").stdout)
    assert found["scores"] == []
    assert len(found["data_hash"]) == 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit",), "missing argument SWEEP|FILE|FOLDER..."),
        (("fit", "nowhere"), "'nowhere' not found"),
        (("fit", "empty"), "no tables of operators or networks"),
        (("fit", "notes.csv"), "not a table with a known name"),
        (("evaluate", "--train", "train", "--test", "nowhere"), "'nowhere' not found"),
        (("evaluate", "--train", "train"), "missing option --test"),
        (("fit", "train", "-o", "nowhere/fleet.json"), "'nowhere/fleet.json' cannot be written"),
        (("evaluate", "--train", "", "--test", "train"), "--train: the name is empty"),
        (("evaluate", "--train", "train", "--test", ""), "--test: the name is empty"),
        (("show", "--data", ""), "--data: the name is empty"),
        (
            ("evaluate", "--train", "train", "--test", "train", "--predictions", "-", "--json"),
            "--json cannot be used with --predictions -",
        ),
    ],
)
def test_mistakes_end_in_a_message(invoke: CommandLine, train: str, arguments: tuple[str, ...], message: str) -> None:
    (invoke.workspace / "empty").mkdir()
    (invoke.workspace / "notes.csv").write_text("a\n1\n")
    assert message in one_line(invoke("predictor", *arguments, expect=2).stderr)


def test_unknown_tables_and_flaws_are_warnings(invoke: CommandLine) -> None:
    rows = operators(("GPU A",), 1)
    rows.loc[0, "latency_ms"] = 0
    folder = write(invoke.workspace / "data", operators_time=rows, latencies=rows)
    warnings = invoke("predictor", "fit", folder).stderr
    assert "latencies.csv is not read: its name begins with none of operators_time*, " in warnings
    assert "warning: operators_time.csv: 1 row left out (time zero, negative or infinite)" in warnings


def test_a_fit_requires_lightgbm(invoke: CommandLine, train: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lightgbm" else found(name))
    error = invoke("predictor", "fit", train, expect=2).stderr
    assert "hpcbench predictor fit requires lightgbm, which is not installed" in error
    assert "'.[predict]'" in error


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_device_that_the_data_do_not_describe_is_one_of_the_workspace(invoke: CommandLine, train: str) -> None:
    rows = operators(("GPU A",), 3, rows=2).assign(device=["NVIDIA A100-PCIE-40GB", "GPU X"])
    test = write(invoke.workspace / "test", operators_time=rows)
    done = invoke("predictor", "evaluate", "--train", train, "--test", test, "--predictions", "-")
    assert "description of device 'GPU X' not found" in done.stdout
    assert done.stdout.splitlines()[1].endswith(","), "no reason"


@pytest.mark.integration
def test_runs_of_sweeps_are_data(command_line: CommandLine, train: str) -> None:
    parameters = {"framework": "command", "command": "true"}
    trial = {"name": "trial", "parameters": parameters, "measure": {"repetitions": 1}}
    (command_line.workspace / "trial.yaml").write_text(json.dumps(trial))
    command_line("sweep", "trial.yaml", "--site", command_line.site(), "--local", "--name", "first")
    fitted = command_line("predictor", "fit", "first", train, "-o", "mine.json")
    assert "first: 1 run left out (" in fitted.stderr
    assert "wrote models fitted on 60 rows" in fitted.stderr
    alone = one_line(command_line("predictor", "fit", "first", "-o", "other.json", expect=2).stderr)
    assert "error: no usable measurements in 'first': models not written" in alone
    assert not (command_line.workspace / "other.json").exists()
    error = command_line("predictor", "fit", "second", expect=2).stderr
    assert "error: 'second' not found" in error
    assert "name a folder, a table or a sweep" in error


def test_a_prefix_of_several_sweeps_is_not_a_source_that_is_not_found(invoke: CommandLine) -> None:
    for name in ("found-1", "found-2"):
        folder = invoke.workspace / "jobs" / name
        folder.mkdir(parents=True)
        (folder / "sweep.json").write_text("{}")
    error = invoke("predictor", "fit", "found", expect=2).stderr
    assert "error: 'found' matches several sweeps: found-1, found-2" in error
    missing = one_line(invoke("predictor", "fit", "lost", expect=2).stderr)
    assert "error: 'lost' not found hint: name a folder, a table or a sweep" in missing


@pytest.mark.parametrize("name", ["my.yaml", "net.pt2"])
def test_a_file_of_another_kind_is_not_a_source(invoke: CommandLine, name: str) -> None:
    (invoke.workspace / name).write_text("name: my")
    error = one_line(invoke("predictor", "fit", name, expect=2).stderr)
    assert f"error: the file has no measurements --> {name} hint: name a folder, a table (.csv or .parquet)" in error


def test_a_fit_reports_what_is_doubtful_in_the_data(invoke: CommandLine) -> None:
    rows = operators(("GPU A", "GPU B"), 1)
    again = rows.head(2).assign(latency_ms=lambda table: 3 * table["latency_ms"])
    noisy = rows.head(4).assign(interference="interference")
    seconds = rows.tail(5).assign(latency_ms=lambda table: table["latency_ms"] / 1e3)
    folder = write(
        invoke.workspace / "data", operators_time=pd.concat([rows, again, noisy, seconds], ignore_index=True)
    )
    warnings = " ".join(invoke("predictor", "fit", folder).stderr.split())
    assert "operators_time.csv: 4 rows left out (interference)" in warnings
    assert "GPU A: 4 rows contradict rows of the same workload: times differ by more than a factor of 2" in warnings
    assert "times faster than the peak rate of the device, for example row 6" in warnings
    shown = " ".join(invoke("predictor", "show").stdout.split())
    assert "flaw: operators_time.csv: 4 rows left out (interference)" in shown
    assert "check the unit of the times" in shown


def test_a_fit_on_one_device_answers_for_others_with_wider_intervals(invoke: CommandLine) -> None:
    invoke("predictor", "fit", write(invoke.workspace / "data", operators_time=operators(("GPU A",), 1)))
    (error,) = [
        each
        for each in json.loads(invoke("predictor", "show", "--json").stdout)["typical_errors"]
        if each["quantity"] == "time_s"
    ]
    assert error["unseen"][1] > error["seen"][1]


def test_rows_of_a_device_without_a_description_are_counted(invoke: CommandLine) -> None:
    rows = operators(("GPU A", "GPU B"), 1)
    rows = rows.assign(device=rows["device"].replace("GPU B", "GPU X"))
    folder = write(invoke.workspace / "data", operators_time=rows)
    warning = "GPU X: 30 rows left out (description of the device not found: docs/reference/devices.md)"
    assert warning in one_line(invoke("predictor", "fit", folder).stderr)
    assert f"flaw: {warning}" in one_line(invoke("predictor", "show").stdout)
    rows.loc[0, "op"] = "matmul"
    rows.to_csv(invoke.workspace / "data" / "operators_time.csv", index=False)
    fitted = one_line(invoke("predictor", "fit", folder).stderr)
    assert "1 row left out of the model of times (operators without a model: 'matmul')" in fitted
    assert "wrote models fitted on 29 rows to" in fitted
    assert json.loads(invoke("predictor", "show", "--json").stdout)["rows"] == {"gemm": {"GPU A": 29}}
    rows.head(1).assign(op="linear").to_csv(invoke.workspace / "data" / "operators_time.csv", index=False)
    assert "wrote models fitted on 1 row to" in one_line(invoke("predictor", "fit", folder).stderr)
    described = write(invoke.workspace / "described", operators_time=operators(("GPU A", "GPU B"), 1))
    assert "not used" not in invoke("predictor", "fit", described).stderr


def test_data_without_a_usable_row_are_an_error(invoke: CommandLine) -> None:
    rows = operators(("GPU A",), 1).assign(device="GPU X")
    folder = write(invoke.workspace / "data", operators_time=rows)
    error = one_line(invoke("predictor", "fit", folder, "-o", "mine.json", expect=2).stderr)
    assert "GPU X: 30 rows left out" in error
    assert f"error: no usable measurements in '{folder}': models not written hint: correct the data" in error
    assert not (invoke.workspace / "mine.json").exists()


def test_data_with_interference_alone_have_a_hint(invoke: CommandLine) -> None:
    rows = operators(("GPU A",), 1).assign(interference="true")
    folder = write(invoke.workspace / "data", operators_time=rows)
    error = one_line(invoke("predictor", "fit", folder, "-o", "mine.json", expect=2).stderr)
    assert "hint: measure again on an idle machine; for a sweep: hpcbench resume SWEEP --interference" in error


def test_misspelt_targets_of_rows_to_predict_are_named(invoke: CommandLine, train: str) -> None:
    test = write(
        invoke.workspace / "test",
        operators_time=operators(("GPU A",), 2, rows=2).rename(columns={"latency_ms": "latency"}),
    )
    warnings = one_line(invoke("predictor", "evaluate", "--train", train, "--test", test).stderr)
    assert "operators_time.csv: column 'latency' is not read: did you mean 'latency_ms'?" in warnings
