"""`hpcbench predict` as it is called; the Python of the framework, which lists the operators, is a stand-in."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from hpcbench.collect.operator_lists import lists
from hpcbench.core.profiling.operator_list import ListedOperator, OperatorList
from hpcbench.core.run_spec import PlannedRun
from tests.commands.predict.test_predictor import DEVICES, operators, write
from tests.conftest import CommandLine
from tests.predict.aten.calls import tensor

GPUS = "a100-pcie-40,h100-sxm"


def product(size: int, name: str = "aten.mm.default") -> ListedOperator:
    """A product of square matrices."""
    arguments = json.dumps({"self": tensor(size, size), "mat2": tensor(size, size)})
    moved = 12 * size * size
    return ListedOperator("gemm", name, "forward", arguments, 1, moved, 0, moved // 3, False, "float32", 2 * size**3)


def listing(planned: Sequence[PlannedRun]) -> list[OperatorList]:
    """Products as large as 1024 per item of the batch; a batch of 13 has an unknown operator, one of 14 a reason."""
    found = []
    for each in planned:
        size = each.parameters["batch_size"]
        name = "mine.secret.default" if size == 13 else "aten.mm.default"
        operators = () if size == 14 else (product(1024 * size, name),)
        found.append(OperatorList(each.case_id, "it is odd" if size == 14 else "", operators, "2.13", 1000))
    return found


@pytest.fixture
def predict(invoke: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `hpcbench predict` on an experiment with two batches."""
    monkeypatch.setattr(lists, "run_node", lambda resolved, planned, workspace, digest: listing(planned))
    site = invoke.site(cost={"currency": "EUR", "core_hour": 0.01, "gpu_hour": 2.0})

    def run(*arguments: str, expect: int = 0, batches: Sequence[int] = (4, 8)) -> Any:
        experiment = invoke.experiment(matrix={"batch_size": list(batches)})
        return invoke("predict", experiment, "--site", site, *arguments, expect=expect)

    return run


def test_each_case_has_a_table_and_recommendations(predict: Callable[..., Any]) -> None:
    text = predict("--device", GPUS).stdout
    assert text.index("batch_size=4\n") < text.index("batch_size=8\n")
    for words in ("time (ms)", "90 % PI", "energy (J)", "h100-sxm", "compute", "price per million samples (EUR)"):
        assert words in text
    assert [line.split() for line in text.splitlines()].count(["h100-sxm", "gemm", "100", "%"]) == 2
    assert "roofline of the data sheet; no measurements" in text
    assert text.startswith("Models from data sheets, without measurements: comparisons are often inconclusive; next: ")


def test_advice_is_on_the_terminal_only(predict: Callable[..., Any]) -> None:
    found = json.loads(predict("--device", "l40s", "--json").stdout)
    assert found["model"] == "Models from data sheets, without measurements"


def test_another_kind_of_device_than_the_case_sets_has_a_remark(predict: Callable[..., Any]) -> None:
    arguments = ("--device", "l40s,epyc-9554", "--limit", "1")
    remark = "l40s: predicted on the GPU, although the case sets device: cpu"
    assert remark in predict(*arguments, "--set", "parameters.device=cpu").stdout
    assert "although" not in predict(*arguments).stdout


def test_one_device_has_its_table_without_a_comparison(predict: Callable[..., Any]) -> None:
    text = predict("--device", "h100-sxm").stdout
    assert "than" not in text
    assert "\n\n\n" not in text, "parts are separated by one empty line"


def test_a_recommendation_can_be_of_time_or_energy_or_within_a_limit(predict: Callable[..., Any]) -> None:
    fastest = predict("--device", GPUS, "--fastest").stdout
    assert "fast" in fastest
    assert "least energy" not in fastest
    least = predict("--device", GPUS, "--least-energy").stdout
    assert "least energy" in least
    assert "fast" not in least
    assert "Not within 1 us: a100-pcie-40" in predict("--device", GPUS, "--within", "1us").stdout
    assert "Within 999 s: a100-pcie-40" in predict("--device", GPUS, "--within", "999s").stdout


def test_json_and_csv_have_a_row_for_each_case_device_and_state(predict: Callable[..., Any]) -> None:
    found = json.loads(predict("--device", GPUS, "--clock", "1000", "--json").stdout)
    keys = [(row["label"], row["device"], row["state"]) for row in found["predictions"]]
    assert keys == [
        (f"batch_size={batch}", device, state)
        for batch in (4, 8)
        for device in GPUS.split(",")
        for state in ("", "1000 MHz")
    ]
    rows = found["predictions"]
    assert all(row["time_s_pi_low"] < row["time_s"] < row["time_s_pi_high"] for row in rows)
    assert rows[0]["time_s"] < rows[1]["time_s"]
    table = list(csv.DictReader(io.StringIO(predict("--device", GPUS, "--clock", "1000", "--csv", "-").stdout)))
    assert [row["time_s"] for row in table] == [str(row["time_s"]) for row in rows]
    assert [row["batch_size"] for row in table] == ["4"] * 4 + ["8"] * 4
    assert [(type(row["batch_size"]), row["basis_rows"]) for row in rows] == [(int, 0)] * 8


def test_a_case_that_cannot_be_predicted_has_its_reason(predict: Callable[..., Any]) -> None:
    done = predict("--device", GPUS, batches=(4, 13, 14), expect=1)
    assert "not predicted: it is odd" in done.stdout
    assert "of the predicted time (limit: 10 %): mine.secret.default" in done.stdout
    error = predict("--device", GPUS, batches=(14,), expect=2).stderr
    assert "error: no case can be predicted: it is odd\n" in error
    assert "hint: predict another experiment or a model: hpcbench list experiments" in error


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ([], "--device: no device is given", "hpcbench list devices"),
        (["--device", "a100-pcie-4"], "device 'a100-pcie-4' not found", "a100-pcie-40"),
        (["--device", GPUS, "--clock", "9000"], "does not have a clock of 9000 MHz", "use one"),
        (["--device", GPUS, "--power-limit", "5"], "does not have a power limit of 5 W", "use one"),
        (["--device", ""], "--device: the name is empty", "name one"),
        (["--device", "l40s,,t4"], "--device: 'l40s,,t4' has an empty name", "name one"),
        (["--device", "a100,h100-sxm,foo", "--fastest"], "devices 'a100' and 'foo' not found", "a100-pcie-40"),
        (
            ["--device", GPUS, "--clock", "1.4GHz"],
            "--clock: '1.4GHz' is not a number",
            "clocks in MHz, for example 1400",
        ),
        (["--device", GPUS, "--power-limit", "0.3kW"], "'0.3kW' is not a number", "limits in W, for example 300"),
        (["--device", GPUS, "--clock", ""], "--clock: '' is not a number", "in MHz"),
        (["--device", GPUS, "--clock", "1000,,1200"], "--clock: '1000,,1200' is not a number", "in MHz"),
        (["--device", GPUS, "--power-limit", ""], "--power-limit: '' is not a number", "in W"),
        (["--device", GPUS, "--batch-size", ""], "--batch-size: '' is not a whole number above 0", "--help"),
        (["--device", GPUS, "--within", "500"], "'500' is not a time above 0 with a unit", "500ms"),
        (["--device", GPUS, "--fastest", "--least-energy"], "--fastest cannot be used with --least-energy", "one"),
        (["--device", GPUS, "--model", "none.json"], "model file not found", "hpcbench predictor fit"),
        (
            ["--device", GPUS, "--model", "."],
            "not a model file written by hpcbench predictor fit: it is a",
            "write one",
        ),
        (["--device", GPUS, "--site", ""], "--site: the name is empty", "name a site"),
    ],
)
def test_bad_input_has_an_error_with_a_hint(
    predict: Callable[..., Any], arguments: list[str], message: str, hint: str
) -> None:
    error = " ".join(predict(*arguments, expect=2).stderr.split())
    assert message in error
    assert hint in error


def test_a_damaged_model_file_is_refused(predict: Callable[..., Any], invoke: CommandLine) -> None:
    (invoke.workspace / "fleet.json").write_text("{}")
    assert "not a model file" in predict("--device", GPUS, expect=2).stderr


def test_a_page_and_figures_are_written(predict: Callable[..., Any], invoke: CommandLine) -> None:
    pytest.importorskip("vl_convert")
    done = predict("--device", GPUS, "--html", "page.html", "--figures", "plots")
    assert "wrote" in done.stderr
    assert "trial: predictions" in (invoke.workspace / "page.html").read_text()
    assert len(list((invoke.workspace / "plots").glob("*.svg"))) == 2


def test_models_of_one_row(predict: Callable[..., Any], invoke: CommandLine) -> None:
    write(invoke.workspace / "data", operators_time=operators(("GPU A",), 1, rows=1))
    invoke("predictor", "fit", "data")
    assert "Models of fleet.json, fitted on 1 row of 1 device (data " in predict("--device", GPUS).stdout


def test_models_that_were_fitted_on_a_device_say_so(predict: Callable[..., Any], invoke: CommandLine) -> None:
    rows = operators(("GPU A", "GPU B"), 1).assign(
        device=lambda table: table["device"].replace("GPU A", "a100-pcie-40")
    )
    sheets = DEVICES.assign(device=DEVICES["device"].replace("GPU A", "a100-pcie-40"))
    write(invoke.workspace / "data", operators_time=rows, devices=sheets)
    invoke("predictor", "fit", "data")
    text = predict("--device", GPUS).stdout
    assert "based on: a100-pcie-40: measured device: 30 of 60 measurements of 2 devices" in text
    assert "based on: h100-sxm: device not measured: 60 measurements of 2 devices" in text
    assert "Models of fleet.json, fitted on 60 rows of 2 devices (data " in text
    found = json.loads(predict("--device", GPUS, "--json").stdout)
    assert found["data_hash"] == json.loads(invoke("predictor", "show", "--json").stdout)["data_hash"]
    rows = {row["device"]: row for row in found["predictions"]}
    counts = ("basis_rows", "basis_devices", "device_rows", "power_devices")
    assert [rows["a100-pcie-40"][name] for name in counts] == [60, 2, 30, 0]
    assert [rows["h100-sxm"][name] for name in counts] == [60, 2, 0, 0]


def test_without_measurements_the_data_hash_is_null(predict: Callable[..., Any]) -> None:
    assert json.loads(predict("--device", GPUS, "--json").stdout)["data_hash"] is None


def test_fitted_models_require_lightgbm(
    predict: Callable[..., Any], invoke: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(invoke.workspace / "data", operators_time=operators(("GPU A",), 1))
    invoke("predictor", "fit", "data")
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lightgbm" else found(name))
    error = predict("--device", GPUS, expect=2).stderr
    assert "'fleet.json' requires lightgbm, which is not installed" in error
    assert "'.[predict]'" in error
