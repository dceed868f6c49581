"""`hpcbench predict` with an exported program or an ONNX file in place of an experiment."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from hpcbench.collect.operator_lists import lists
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.run_spec import PlannedRun
from tests.collect.operator_lists.exported.made_program import linear, meta, node, program, saved, tensor
from tests.commands.predict.test_predict import GPUS, product
from tests.conftest import CommandLine


def test_a_program_is_predicted_for_each_batch(invoke: CommandLine) -> None:
    saved(invoke.workspace / "net.pt2", linear())
    found = json.loads(invoke("predict", "net.pt2", "--device", GPUS, "--batch-size", "1,64", "--json").stdout)
    rows = [row for row in found["predictions"] if not row["state"]]
    assert [(row["label"], row["device"]) for row in rows] == [
        (f"batch_size={size}", device) for size in (1, 64) for device in GPUS.split(",")
    ]
    assert found["experiment"] == "net"
    assert all(row["time_s"] > 0 for row in rows)
    assert rows[0]["memory_bytes"] < rows[2]["memory_bytes"]
    text = invoke("predict", "net.pt2", "--device", GPUS).stdout
    assert "time by kind" in text
    assert "batch_size" not in text
    assert "net, inference, float32, eager, batch size " in text
    kept = ("model", "task", "dtype", "execution", "batch_size")
    assert [tuple(row[name] for name in kept) for row in rows[::2]] == [
        ("net", "inference", "float32", "eager", size) for size in (1, 64)
    ]


def test_a_program_on_cpus_is_priced_for_all_cores_of_its_time(invoke: CommandLine) -> None:
    saved(invoke.workspace / "net.pt2", linear())
    site = invoke.site(cost={"core_hour": 0.012, "gpu_hour": 0.9})
    arguments = ("--device", "epyc-9554,l40s", "--batch-size", "8", "--site", site, "--fastest", "--json")
    rows = json.loads(invoke("predict", "net.pt2", *arguments).stdout)["predictions"]
    hours = [row["price_per_million_items"] * 8 / 1e6 / row["time_s"] * 3600 for row in rows]
    assert hours == pytest.approx([64 * 0.012, 0.9 + 0.012])


def test_the_suffix_of_a_file_may_have_capital_letters(invoke: CommandLine) -> None:
    saved(invoke.workspace / "NET.PT2", linear())
    assert "NET, inference" in invoke("predict", "NET.PT2", "--device", "l40s").stdout


def test_an_onnx_file_needs_a_name_that_is_text(invoke: CommandLine) -> None:
    name = os.fsdecode(b"net\xff.onnx")
    (invoke.workspace / name).write_bytes(b"")
    error = invoke("predict", name, "--device", "l40s", expect=2).stderr
    assert "has bytes that are not UTF-8" in error
    assert "rename it" in error


def test_a_program_without_a_tensor_as_input_is_predicted_once(invoke: CommandLine) -> None:
    content = linear(batch=4)
    content["graph_module"]["signature"]["input_specs"].pop()
    saved(invoke.workspace / "net.pt2", content)
    rows = json.loads(invoke("predict", "net.pt2", "--device", "l40s", "--json").stdout)["predictions"]
    assert [row["time_s"] > 0 for row in rows if not row["state"]] == [True]


def test_a_program_with_a_damaged_range_is_an_error(invoke: CommandLine) -> None:
    saved(invoke.workspace / "net.pt2", {**linear(), "range_constraints": {"s77": [1, 64]}})
    error = invoke("predict", "net.pt2", "--device", "l40s", "--batch-size", "8", expect=2).stderr
    assert "net.pt2" in error
    assert "Traceback" not in error


def test_a_custom_operator_is_refused_by_its_name(invoke: CommandLine) -> None:
    calls = [node("torch.ops.mylib.secret.default", "a", x=tensor("x"))]
    saved(invoke.workspace / "net.pt2", program(calls, {"x": meta(4, 8), "a": meta(4, 8)}, ()))
    text = invoke("predict", "net.pt2", "--device", "l40s", expect=1).stdout
    reason = "operators of unknown kind take 100 % of the predicted time (limit: 10 %): mylib.secret.default"
    assert f"l40s: not predicted: {reason}" in text


@pytest.mark.parametrize(("operator", "has_hint"), [("aten.einsum.default", True), ("mylib.secret.default", False)])
def test_an_unknown_operator_of_aten_has_a_hint(invoke: CommandLine, operator: str, has_hint: bool) -> None:
    calls = [node(f"torch.ops.{operator}", "a", x=tensor("x"))]
    saved(invoke.workspace / "net.pt2", program(calls, {"x": meta(4, 8), "a": meta(4, 8)}, ()))
    done = invoke("predict", "net.pt2", "--device", "l40s", expect=1)
    assert f"(limit: 10 %): {operator}" in done.stdout
    assert ("hint: save program.run_decompositions() instead" in done.stderr) == has_hint


def test_a_program_in_float64_is_refused_by_its_data_type(invoke: CommandLine) -> None:
    calls = [node("torch.ops.aten.linear.default", "a", input=tensor("x"), weight=tensor("w"))]
    calls.append(node("torch.ops.aten.relu.default", "b", self=tensor("a")))
    saved(invoke.workspace / "net.pt2", program(calls, {name: meta(1024, 1024, dtype=8) for name in "xwab"}))
    text = " ".join(invoke("predict", "net.pt2", "--device", "l40s", expect=1).stdout.split())
    assert "l40s: not predicted: operators of unknown kind take " in text
    assert "% of the predicted time (limit: 10 %): linear in float64 (unknown rate)" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.pt2"], "'none.pt2' not found"),
        (["text.pt2"], "not an exported program"),
        (["none.onnx"], "'none.onnx' not found"),
        (["net.pt2", "--batch-size", "0"], "'0' is not a whole number above 0"),
        (["net.pt2", "--batch-size", "1,x"], "'1,x' is not a whole number above 0"),
        (["net.pt2", "--batch-size", "10000000000"], "the batch size 10000000000 is larger than 1000000000"),
        (["resnet50", "--batch-size", "1000000001"], "the batch size 1000000001 is larger than 1000000000"),
        (["net.pt2", "--batch-size", "65"], "the batch size 65 exceeds 64"),
        (["net.pt2", "--set", "parameters.dtype=float16"], "export the network in the dtype to predict"),
        (["quickstart", "--batch-size", "8"], "--batch-size requires a model, an ONNX file or an exported program"),
        (
            ["text.pth"],
            "'text.pth' is not an exported program hint: save the network in a .pt2 file: torch.export.save",
        ),
        (["none.pt"], "'none.pt' not found"),
    ],
)
def test_mistakes_end_in_a_message(invoke: CommandLine, arguments: list[str], message: str) -> None:
    saved(invoke.workspace / "net.pt2", linear())
    for name in ("text.pt2", "text.pth"):
        (invoke.workspace / name).write_text("hello")
    error = " ".join(invoke("predict", *arguments, "--device", "l40s", expect=2).stderr.split())
    assert message in error
    assert "hint: " in error or "0" in arguments or "1,x" in arguments


@pytest.mark.parametrize(
    ("reason", "fields", "message", "hint"),
    [
        ("", {}, "", ""),
        (
            "{file} does not fit",
            {"fixed_batch_size": 2},
            "error: the graph has a fixed batch size of 2, not 1 --> net.onnx",
            "use --batch-size 2",
        ),
        (
            "'x' of {file} requires shape: [...]",
            {"lacks_input": ["shape"]},
            "error: 'x' of the file requires shape: [...] --> net.onnx",
            "hint: give the shape of one item: --set 'parameters.input={shape: [3,224,224]}'",
        ),
        (
            "'x' of {file} requires shape: [...] and vocabulary: N",
            {"lacks_input": ["value", "shape"]},
            "requires shape: [...] and vocabulary: N --> net.onnx",
            "item and the vocabulary size: --set 'parameters.input={shape: [128], vocabulary: 30000}' hint: for",
        ),
        (
            "'x' of {file} requires vocabulary: N",
            {"lacks_input": ["value"]},
            "'x' of the file requires vocabulary: N --> net.onnx",
            "hint: give the vocabulary size: --set 'parameters.input={vocabulary: 30000}'",
        ),
        ("model: {file} is not an ONNX file", {}, "error: the file is not an ONNX file --> net.onnx", ""),
    ],
)
def test_an_onnx_file_is_listed_by_the_node_code(
    invoke: CommandLine, monkeypatch: pytest.MonkeyPatch, reason: str, fields: dict[str, Any], message: str, hint: str
) -> None:
    asked: list[PlannedRun] = []
    file = invoke.workspace / "net.onnx"
    file.write_bytes(b"")

    def listing(resolved: object, planned: Sequence[PlannedRun], *_: object) -> list[OperatorList]:
        asked.extend(planned)
        found = () if reason else (product(512),)
        text = reason.format(file=file.resolve())
        return [OperatorList(each.case_id, text, found, "1", 1000, **fields) for each in planned]

    monkeypatch.setattr(lists, "run_node", listing)
    site = invoke.site(environments={"onnxruntime": {"python": sys.executable}})
    arguments = ("--device", "l40s", "--batch-size", "1,8", "--site", site)
    done = invoke("predict", "net.onnx", *arguments, expect=2 if reason else 0)
    assert [each.parameters["batch_size"] for each in asked] == [1, 8]
    assert {each.parameters["model"] for each in asked} == {f"onnx:{file.resolve()}"}
    error = " ".join(done.stderr.split())
    assert message in error
    assert hint in error
    assert ("batch_size=8" in done.stdout) == (not reason)
    assert ("net.onnx, inference, float32, batch sizes 1 and 8\n" in done.stdout) == (not reason)


def listed_in(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the node code list a file with weights in a dtype."""

    def listing(resolved: object, planned: Sequence[PlannedRun], *_: object) -> list[OperatorList]:
        return [OperatorList(each.case_id, "", (product(512),), "1", 1000, dtype=dtype) for each in planned]

    monkeypatch.setattr(lists, "run_node", listing)


def test_an_onnx_file_is_predicted_in_its_own_dtype(invoke: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    listed_in("float16", monkeypatch)
    (invoke.workspace / "net.onnx").write_bytes(b"")
    site = invoke.site(environments={"onnxruntime": {"python": sys.executable}})
    arguments = ("predict", "net.onnx", "--device", "l40s", "--site", site)
    assert "net.onnx, inference, float16, batch size 1\n" in invoke(*arguments).stdout
    assert "net.onnx, inference, float16" in invoke(*arguments, "--set", "parameters.dtype=float16").stdout
    for setting in ("parameters.dtype=float32", "matrix.dtype=[bfloat16, float16]"):
        error = " ".join(invoke(*arguments, "--set", setting, expect=2).stderr.split())
        assert "does not match the file, which has float16 --> net.onnx" in error
        assert "hint: export the network in the dtype to predict" in error


@pytest.mark.parametrize(
    ("given", "lacking", "fields"),
    [
        ("{shape: [64]}", "value", "shape: [64], vocabulary: 30000"),
        ("{vocabulary: 9}", "shape", "vocabulary: 9, shape: [128]"),
        ("{dtype: bool, value: true}", "shape", 'dtype: "bool", value: true, shape: [128]'),
        ("{ids: {shape: [64]}}", "value", "shape: [64], vocabulary: 30000"),
        ("{ids: {shape: [64]}, mask: {shape: [64], dtype: bool, vocabulary: 2}}", "value", "vocabulary: 30000"),
    ],
)
def test_the_fields_that_are_given_stay_in_the_hint(
    invoke: CommandLine, monkeypatch: pytest.MonkeyPatch, given: str, lacking: str, fields: str
) -> None:
    def listing(resolved: object, planned: Sequence[PlannedRun], *_: object) -> list[OperatorList]:
        return [OperatorList(each.case_id, "it is incomplete", lacks_input=[lacking]) for each in planned]

    monkeypatch.setattr(lists, "run_node", listing)
    (invoke.workspace / "net.onnx").write_bytes(b"")
    site = invoke.site(environments={"onnxruntime": {"python": sys.executable}})
    arguments = ("--device", "l40s", "--site", site, "--set", f"parameters.input={given}")
    error = " ".join(invoke("predict", "net.onnx", *arguments, expect=2).stderr.split())
    assert f"--set 'parameters.input={{{fields}}}'" in error
    assert f"--set 'parameters.input={{NAME: {{{fields}}}}}'" in error


@pytest.mark.parametrize(
    ("setting", "place"),
    [("parameters.task=training", "--> net.onnx: parameters "), ("parameters.dtype=half", "--set parameters.dtype: ")],
)
def test_errors_of_an_onnx_file_have_no_line(invoke: CommandLine, setting: str, place: str) -> None:
    (invoke.workspace / "net.onnx").write_bytes(b"")
    error = " ".join(invoke("predict", "net.onnx", "--device", "l40s", "--set", setting, expect=2).stderr.split())
    assert place in error
    assert "net.onnx:1" not in error


def test_reasons_of_other_batches_do_not_have_the_place_of_the_file(
    invoke: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = invoke.workspace / "net.onnx"
    file.write_bytes(b"")

    def listing(resolved: object, planned: Sequence[PlannedRun], *_: object) -> list[OperatorList]:
        first, second = planned
        reason = f"model: {file.resolve()} has a fixed batch size of 1"
        return [OperatorList(first.case_id, "", (product(512),), "1", 1000), OperatorList(second.case_id, reason)]

    monkeypatch.setattr(lists, "run_node", listing)
    site = invoke.site(environments={"onnxruntime": {"python": sys.executable}})
    done = invoke("predict", "net.onnx", "--device", "l40s", "--batch-size", "1,8", "--site", site, expect=1)
    assert "not predicted: the file has a fixed batch size of 1" in done.stdout
    assert str(file.resolve()) not in done.stdout
