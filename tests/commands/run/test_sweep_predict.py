"""`hpcbench sweep --predict`: predictions in the dry run, in the folder of the sweep, and next to measured values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hpcbench.collect.operator_lists import lists
from hpcbench.commands.shared.predictions import predict_sweep
from hpcbench.doctor.this_machine import ThisMachine
from hpcbench.predict.devices.device import Device
from hpcbench.predict.fleet import fit
from hpcbench.predict.fleet_file import to_text
from hpcbench.predict.sets.data_set import DataSet
from tests.commands.predict.test_predict import listing
from tests.conftest import CommandLine

A_CPU = ThisMachine("AMD EPYC 7763 64-Core Processor", 128, None)


@pytest.fixture
def sweep(invoke: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `hpcbench sweep --predict` on a machine with known CPUs; a stand-in lists the operators."""
    monkeypatch.setattr(lists, "run_node", lambda resolved, planned, workspace, digest: listing(planned))
    monkeypatch.setattr(predict_sweep, "this_machine", lambda: A_CPU)
    site = invoke.site()

    def run(*arguments: str, expect: int = 0, batches: Sequence[int] = (4, 8), **sections: Any) -> Any:
        experiment = invoke.experiment(matrix={"batch_size": list(batches)}, **sections)
        return invoke("sweep", experiment, "--site", site, *arguments, expect=expect)

    return run


def stored(workspace: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((workspace / "jobs" / name / "predictions.json").read_text())
    return found


def test_a_dry_run_shows_predictions_and_writes_no_sweep(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    done = sweep("--predict", "--dry-run")
    assert "predictions of 2 cases" in done.stdout
    for words in ("predicted on", "step time (", "90 % PI", "power (W)", "energy per step (J)", "epyc-7763"):
        assert words in done.stdout
    assert "predicted 2 of 2 cases on epyc-7763" in done.stderr
    assert "Models from data sheets, without measurements" in done.stderr
    assert not (invoke.workspace / "jobs").exists()
    assert "predict" not in sweep("--dry-run").stdout


def test_a_profile_can_be_predicted_too(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    sweep("--dry-run")  # writes the files
    done = invoke("profile", "trial.yaml", "--site", "here-site.yaml", "--predict", "--dry-run")
    assert "predictions of 2 cases" in done.stdout


def test_the_plan_as_json_has_the_predictions(sweep: Callable[..., Any]) -> None:
    plan = json.loads(sweep("--predict", "--dry-run", "--json").stdout)
    found = plan["predictions"]
    assert [each["case"] for each in found["cases"]] == [each["case"] for each in plan["cases"]]
    assert [each["label"] for each in found["cases"]] == ["batch_size=4", "batch_size=8"]
    assert all(each["time_s"]["low"] < each["time_s"]["value"] < each["time_s"]["high"] for each in found["cases"])
    assert found["devices"][0]["name"] == "epyc-7763"
    assert json.loads(sweep("--dry-run", "--json").stdout)["predictions"] is None


def test_predictions_are_stored_when_the_sweep_is_created(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    sweep("--predict", "--render-only", "--name", "one")
    found = stored(invoke.workspace, "one")
    assert [each["reason"] for each in found["cases"]] == [None, None]
    assert (found["model_sha256"], found["data_hash"]) == (None, None)
    sweep("--render-only", "--name", "two")
    assert not (invoke.workspace / "jobs" / "two" / "predictions.json").exists()
    invoke("archive", "one")
    invoke("sweep", "--from", "one.tar.gz", "--render-only", "--name", "three", "--site", "here-site.yaml")
    assert not (invoke.workspace / "jobs" / "three" / "predictions.json").exists()
    invoke("sweep", "--from", "one", "--render-only", "--name", "four", "--site", "here-site.yaml", "--predict")
    assert stored(invoke.workspace, "four")["cases"] == found["cases"]


def test_a_case_that_cannot_be_predicted_does_not_stop_the_sweep(
    sweep: Callable[..., Any], invoke: CommandLine
) -> None:
    done = sweep("--predict", "--render-only", "--name", "one", batches=(4, 13, 14))
    assert "predicted 1 of 3 cases" in done.stderr
    known, unknown, odd = stored(invoke.workspace, "one")["cases"]
    assert known["time_s"]["value"] > 0
    assert (odd["time_s"], odd["reason"], odd["device"]) == (None, "it is odd", None)
    assert "operators of unknown kind" in unknown["reason"]
    shown = sweep("--predict", "--dry-run", batches=(4, 14)).stdout
    assert f"not predicted: {odd['case']}: it is odd" in shown
    assert "warning: no case is predicted: it is odd" in sweep("--predict", "--dry-run", batches=(14,)).stderr


def test_a_network_with_an_unknown_device_has_the_reason(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    network = {"model": "resnet50", "model_options": {}}
    sweep(
        "--predict",
        "--render-only",
        "--name",
        "one",
        include=[{"device": "cpu"}, {"device": "gpu"}],
        parameters=network,
    )
    cases = stored(invoke.workspace, "one")["cases"]
    on_gpu = [each for each in cases if "device=gpu" in each["label"]]
    assert (len(on_gpu), len(cases)) == (1, 4)
    for case in cases:
        if case in on_gpu:
            assert (case["time_s"], case["device"]) == (None, None)
            assert case["reason"].startswith("no GPU was found on this machine")
        else:
            assert (case["device"], case["reason"]) == ("epyc-7763", None)
            assert case["time_s"]["value"] > 0


def test_a_case_that_is_too_large_for_its_device_has_a_warning(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    assert "run out of memory" not in sweep("--predict", "--dry-run").stderr
    folder = invoke.workspace / "configs" / "devices"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("devices:\n  epyc-7763: {memory_gb: 1.5}\n")
    warning = " ".join(sweep("--predict", "--dry-run", batches=(4, 20)).stderr.split())
    assert "1 case may run out of memory, the first: batch_size=20 (predicted 1.56 GiB" in warning
    assert "device 1.4 GiB)" in warning


def test_named_devices_are_predicted(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    sweep("--predict", "--predict-device", "h100-sxm, xeon-6248,l4", "--render-only", "--name", "one", expect=2)
    sweep("--predict", "--predict-device", "h100-sxm, epyc-7742,l4", "--render-only", "--name", "one")
    assert {each["device"] for each in stored(invoke.workspace, "one")["cases"]} == {"epyc-7742"}


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--predict-device", "l4"], "--predict-device requires --predict", "add --predict"),
        (["--predict-model", "fleet.json"], "--predict-model requires --predict", "add --predict"),
        (["--predict", "--predict-device", "a100-pcie-4"], "device 'a100-pcie-4' not found", "a100-pcie-40"),
        (["--predict", "--predict-device", "l4"], "no device of 'l4' is a CPU", "hpcbench list devices"),
        (["--predict", "--predict-device", ""], "the name is empty", ""),
        (["--predict", "--predict-model", "none.json"], "model file not found", "hpcbench predictor fit"),
    ],
)
def test_wrong_options_are_errors_before_anything_is_written(
    sweep: Callable[..., Any], invoke: CommandLine, arguments: list[str], message: str, hint: str
) -> None:
    error = " ".join(sweep(*arguments, "--render-only", expect=2).stderr.split())
    assert message in error
    assert hint in error
    assert not (invoke.workspace / "jobs").exists()


def test_an_unknown_machine_is_an_error_that_names_what_is_missing(
    sweep: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict_sweep, "this_machine", lambda: ThisMachine("CPU of Tomorrow", 4, None))
    error = sweep("--predict", "--render-only", expect=2).stderr
    assert "the CPU of this machine, 'CPU of Tomorrow', has no description" in " ".join(error.split())
    assert "hpcbench doctor" in error


def test_commands_are_not_predicted(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    experiment = {"name": "trial", "parameters": {"framework": "command", "command": "true"}}
    (invoke.workspace / "command.yaml").write_text(json.dumps(experiment))
    done = invoke("sweep", "command.yaml", "--site", invoke.site(), "--predict", "--render-only", "--name", "one")
    assert "warning: no case is predicted" in done.stderr
    assert [each["time_s"] for each in stored(invoke.workspace, "one")["cases"]] == [None]


def test_variables_that_the_models_set_are_not_those_of_the_runs(
    sweep: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_THREADS", "4")
    usual = predict_sweep.models_of

    def models_of(*arguments: Any) -> Any:
        os.environ.update(SOME_THREADS="1", ANOTHER_LIBRARY="on")
        return usual(*arguments)

    monkeypatch.setattr(predict_sweep, "models_of", models_of)
    sweep("--predict", "--render-only", "--name", "one")
    assert (os.environ["SOME_THREADS"], os.environ.get("ANOTHER_LIBRARY")) == ("4", None)


def test_a_model_file_is_identified_by_its_hash(sweep: Callable[..., Any], invoke: CommandLine) -> None:
    text = to_text(fit(DataSet()))
    (invoke.workspace / "mine.json").write_text(text)
    sweep("--predict", "--predict-model", "mine.json", "--render-only", "--name", "one")
    found = stored(invoke.workspace, "one")
    assert found["model_sha256"] == sha256(text.encode()).hexdigest()
    assert found["model"].startswith("Models of mine.json")


def test_flaws_of_the_data_of_models_are_counted_with_the_command_that_lists_them(
    sweep: Callable[..., Any], invoke: CommandLine
) -> None:
    (invoke.workspace / "my models.json").write_text(to_text(fit(DataSet(flaws=("wrong unit", "no time")))))
    warning = "warning: 2 flaws in the data that the models were fitted on; next: hpcbench predictor show"
    assert f"{warning} 'my models.json'" in sweep("--predict", "--predict-model", "my models.json", "--dry-run").stderr
    asked = ("predict", "resnet50", "--device", "epyc-7763")
    assert f"{warning} 'my models.json'" in invoke(*asked, "--model", "my models.json").stderr
    (invoke.workspace / "fleet.json").write_text(to_text(fit(DataSet(flaws=("wrong unit",)))))
    assert "1 flaw in the data that the models were fitted on; next: hpcbench predictor show\n" in invoke(*asked).stderr
    (invoke.workspace / "fleet.json").write_text(to_text(fit(DataSet())))
    assert "flaw" not in invoke(*asked).stderr


def test_peaks_measured_under_load_are_named_and_stored(
    sweep: Callable[..., Any], invoke: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    warning = "warning: epyc-7763: peaks measured under load: the predicted time may be too long"
    assert warning not in sweep("--predict", "--dry-run").stderr
    usual = predict_sweep.of_machine

    def of_machine(*arguments: Any) -> Callable[..., Device]:
        return lambda case: replace(usual(*arguments)(case), peaks_under_load=True)

    monkeypatch.setattr(predict_sweep, "of_machine", of_machine)
    assert warning in sweep("--predict", "--dry-run").stderr
    sweep("--predict", "--render-only", "--name", "one")
    assert [each["peaks_under_load"] for each in stored(invoke.workspace, "one")["devices"]] == [True]


@pytest.mark.framework
def test_a_sweep_shows_predicted_next_to_measured_times(with_environments: Callable[..., CommandLine]) -> None:
    command_line = with_environments("pytorch")
    experiment = command_line.experiment(
        parameters={"task": "inference"}, matrix={"batch_size": [4, 8]}, measure={"repetitions": 1}
    )
    done = command_line("sweep", experiment, "--local", "--predict", "--predict-device", "epyc-7742", "--name", "one")
    assert "predicted 2 of 2 cases on epyc-7742" in done.stderr
    before = stored(command_line.workspace, "one")
    rows = command_line.report()
    assert {row["predicted_device"] for row in rows} == {"epyc-7742"}
    for row, case in zip(sorted(rows, key=lambda row: int(row["batch_size"])), before["cases"], strict=True):
        assert float(row["predicted_time_s"]) == pytest.approx(case["time_s"]["value"])
        ratio = float(row["time_median_s"]) / case["time_s"]["value"]
        assert float(row["measured_over_predicted_time"]) == pytest.approx(ratio)
        assert row["predicted_time_verdict"] in ("inside", "above", "below", "other device")
    text = command_line("report", env={"COLUMNS": "200"}).stdout
    assert "measured / predicted" in text
    assert "Predictions for epyc-7742 were made before the measurements." in text
    command_line("report", "--html", "page.html")
    assert '<section id="predictions"' in (command_line.workspace / "page.html").read_text("utf-8")
    (command_line.workspace / "fleet.json").write_text(to_text(fit(DataSet())), "utf-8")
    assert command_line.report() == rows, "a later fit changes no prediction"
    assert stored(command_line.workspace, "one") == before
