"""ONNX files in ONNX Runtime: outputs, FLOPs, fingerprints, threads, and files and inputs that are refused."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.config.parameters import Parameters
from tests.frameworks.asking import Asked

HERE = Path(__file__).parent
Probe = Callable[..., list[dict[str, Any]]]
# Of one item, by hand: 2 x multiply-accumulate operations.
FLOPS = {
    "conv": 2 * (6 * 4 * 4) * (4 * 3 * 3),
    "grouped": 2 * (8 * 6 * 6) * (3 * 3),
    "transposed": 2 * (4 * 8 * 8) * (5 * 3 * 3),
    "quantized": 2 * (3 * 6 * 6) * (4 * 3 * 3),
    "gemm": 2 * 7 * 5,
    "matmul": 2 * 6 * 8 * 3,
    "batched": 2 * 6 * 8 * 6,
    "einsum": 2 * 6 * 8 * 3,
    "lstm": 2 * 6 * 2 * (4 * 5) * (8 + 5),
    "gru": 2 * 6 * (3 * 5) * (8 + 5),
    "attention": 2 * 2 * 6 * 6 * 8,
    "past": 2 * 2 * 6 * (5 + 6) * 8,
    "multihead": 2 * 2 * 6 * 6 * 8,
    "projected": 2 * 6 * 8 * (3 * 8) + 2 * 2 * 6 * 6 * 8,
    "fused": 2 * 8 * 6 * 8,
    "after": 2 * 6 * 8 * 300,
}
TOKENS = {"ids": {"shape": [7], "dtype": "tokens", "vocabulary": 10}, "mask": {"shape": [7], "value": 1}}


@pytest.fixture(scope="session")
def files(environment_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the graphs of onnx_graphs.py as ONNX files."""
    folder = tmp_path_factory.mktemp("onnx")
    script = HERE / "onnx_graphs.py"
    subprocess.run([environment_python("onnxruntime"), script, folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def probe(asked: Asked, files: Path, monkeypatch: pytest.MonkeyPatch) -> Probe:
    """What ONNX Runtime finds for each of these cases, in one process, or in rank 0 of several."""

    def probe(*cases: dict[str, Any], folder: Path = files, **settings: Any) -> list[dict[str, Any]]:
        monkeypatch.chdir(folder)
        base = {"framework": "onnxruntime", "batch_size": 2, "seed": 3, "cpus_per_task": 8}
        planned = [Parameters.model_validate({**base, **each}).planned() for each in cases]
        found, *_ = asked.answers("onnx_probe", folder, json.dumps(planned), framework="onnxruntime", **settings)
        return list(found)

    return probe


def of(name: str, **changes: Any) -> dict[str, Any]:
    return {"model": {"onnx": f"{name}.onnx"}, **changes}


def weight(*shape: int, seed: int = 1) -> Any:
    """As in onnx_graphs.py."""
    return (np.random.default_rng(seed).standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32)


def relative_error(found: Any, expected: Any) -> float:
    return float(abs(np.asarray(found) - expected).max() / abs(expected).max())


def test_outputs_are_those_of_numpy(probe: Probe) -> None:
    network, masked = probe(of("mlp"), of("tokens", input=TOKENS))
    hidden = np.maximum(np.array(network["inputs"]["x"], np.float32) @ weight(5, 3).T + weight(5), 0)
    assert relative_error(network["output"], hidden @ weight(5, 2)) < 1e-5
    assert masked["dtypes"] == {"ids": "int64", "mask": "int64"}
    vectors = weight(10, 6)[np.array(masked["inputs"]["ids"])]
    assert relative_error(masked["output"], vectors @ weight(6, 4)) < 1e-5


def test_flops_are_those_of_each_operator(probe: Probe) -> None:
    masked = {"mask": {"value": 1}}
    cases = [of(name, input=masked if name == "multihead" else None) for name in FLOPS]
    found = dict(zip(FLOPS, probe(*cases), strict=True))
    assert {name: each.get("flops_per_item", each) for name, each in found.items()} == FLOPS
    assert not [each["remarks"] for each in found.values() if each["remarks"]]
    assert found["conv"]["parameter_count"] == 6 * 4 * 3 * 3 + 6
    assert found["quantized"]["parameter_count"] == 4 * 3 * 3 * 3 + 6, "with three scales and zero points"


def test_operators_in_branches_are_not_counted_and_remarked(probe: Probe) -> None:
    (found,) = probe(of("inside"))
    assert found["flops_per_item"] == 0
    assert found["remarks"] == ["flops_per_item does not include 2 operators of the graph: MatMul"]


def test_shipped_models_that_pytorch_exports_have_the_flops_and_outputs_of_pytorch(
    probe: Probe, answers: Callable[..., list[Any]], environment_python: Callable[[str], Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (packages,) = environment_python("onnxruntime").parents[1].glob("lib/python*/site-packages")
    (flops,) = answers("onnx_export.py", packages, framework="pytorch")
    tokens = {"dtype": "tokens", "vocabulary": 9}
    cases = [of(name, input=tokens if name in ("transformer", "gpt") else None) for name in flops]
    for name, found in zip(flops, probe(*cases, folder=tmp_path), strict=True):
        assert "error" not in found, (name, found)
        assert found["flops_per_item"] == flops[name], name
        assert relative_error(found["output"], np.load(f"{name}.npy")) < 1e-4, name


def test_the_fingerprint_is_that_of_the_graph_without_weights_and_names(probe: Probe) -> None:
    same = [of("mlp"), of("mlp", batch_size=5), of("reseeded"), of("renamed")]
    *equal, wider, fixed = (each["fingerprint"] for each in probe(*same, of("wider"), of("fixed", batch_size=4)))
    assert len(set(equal)) == 1
    assert len({equal[0], wider, fixed}) == 3


def test_weights_in_another_file_are_found(probe: Probe) -> None:
    inside, outside = probe(of("large"), of("external"))
    assert inside["parameter_count"] == 2000 * (3 + 1 + 2)
    compared = ("parameter_count", "flops_per_item", "fingerprint", "output")
    assert [inside[name] for name in compared] == [outside[name] for name in compared]


def test_threads_are_those_of_the_session(probe: Probe) -> None:
    threads = [{}, {"intra_op_threads": 2}, {"intra_op_threads": 1, "inter_op_threads": 3}]
    found = probe(*(of("mlp", **each, oversubscribe=True) for each in threads), cpus=[0])
    counts = [(each["threads"]["intra_op"], each["threads"]["inter_op"]) for each in found]
    assert counts == [(1, 1), (2, 1), (1, 3)], "one core: unset is one thread"
    assert {tuple(each["settings"]["providers"]) for each in found} == {("CPUExecutionProvider",)}


def test_threads_stay_on_the_cpus_of_their_process(probe: Probe) -> None:
    """By default, ONNX Runtime binds a thread to each core of the machine."""
    for cpu in sorted(os.sched_getaffinity(0)):
        (found,) = probe(of("mlp"), cpus=[cpu])
        assert found["affinities"]
        assert all(each == [cpu] for each in found["affinities"])


OPSET = "Current official support for domain ai.onnx is till opset 28.; export it with an older opset, or build"
BOTH = (
    "'input' is incomplete for tokens.onnx: 'ids' of type int64 [batch, length] requires shape: [...] and "
    "either vocabulary: N or value: N; 'mask' of type int64 [batch, length] requires"
)
REFUSED: list[tuple[dict[str, Any], str]] = [
    (of("none"), "model: none.onnx cannot be read: No such file or directory"),
    (of("text"), "model: text.onnx is not an ONNX file: DecodeError"),
    (of("empty"), "model: empty.onnx is not an ONNX file: it has no graph"),
    (of("future"), "ONNX Runtime 1.32.0 cannot load future.onnx: Fail: ONNX Runtime only *guarantees* support"),
    (of("future"), OPSET),
    (of("unknown"), "cannot load unknown.onnx: InvalidGraph: This is an invalid model."),
    (of("closed"), "model: closed.onnx has no inputs"),
    (of("lost"), "cannot load lost.onnx: "),
    (of("scalar"), "input 'x' of scalar.onnx is a scalar; the first dimension of each input must be the batch"),
    (of("tokens"), BOTH),
    (of("tokens", input={"ids": TOKENS["ids"]}), "'input' is incomplete for tokens.onnx: 'mask' of type int64 [batch,"),
    (of("mlp", input={"X": {"shape": [3]}}), "input 'X' not found in mlp.onnx; its inputs are: x"),
    (of("tokens", input={"id": TOKENS["ids"]}), "input 'id' not found in tokens.onnx; did you mean ids?"),
    (of("mlp", input={"shape": [4]}), "shape [4] of input 'x' does not fit mlp.onnx, which requires [3]"),
    (of("mlp", input={"shape": [3, 1]}), "shape [3, 1] of input 'x' does not fit mlp.onnx, which requires [3]"),
    (of("mlp", input={"dtype": "tokens", "vocabulary": 3}), "input 'x' of mlp.onnx has type float32, not tokens"),
    (of("mlp", input={"dtype": "bool", "value": 1}), "input 'x' of mlp.onnx has type float32, not bool"),
    (of("fixed"), "fixed.onnx has a fixed batch size of 4, not 2; set batch_size: 4"),
    (of("half"), "dtype: float32 does not match 'half.onnx', which has float16; set dtype: float16, or"),
    (of("double"), "'double.onnx', which has float64"),
    (of("mismatch", input={"shape": [4]}), "the forward pass of mismatch.onnx with x [4] failed: RuntimeError: Error"),
]


def test_files_and_inputs_that_do_not_fit_are_refused(probe: Probe) -> None:
    for (_, message), found in zip(REFUSED, probe(*(case for case, _ in REFUSED)), strict=True):
        assert found.get("refused") in ("BadModel", "IncompleteInput", "FixedBatch"), (message, found)
        assert message in found["error"]
        assert "/onnxruntime_src/" not in found["error"]
        assert not found["exhausted"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "float16"}, "this framework computes in float32 here, not in float16"),
        (
            {"device": "gpu", "gpus_per_task": 1},
            "device: gpu requires CUDAExecutionProvider; this build of ONNX Runtime 1.32.0 has ",
        ),
    ],
)
def test_missing_features_of_the_build_are_unsupported(probe: Probe, changes: dict[str, Any], message: str) -> None:
    (found,) = probe(of("half" if "dtype" in changes else "mlp", **changes))
    assert found["refused"] == "Unsupported"
    assert message in found["error"]


def test_no_gpu_case_falls_back_to_the_cpu(probe: Probe) -> None:
    (found,) = probe(of("mlp", device="gpu", gpus_per_task=1), SYNTHESIZED_GPU="1")
    assert found["refused"] == "Unsupported"
    assert found["error"].startswith("mlp.onnx cannot run entirely on the GPU: Fail: This session contains graph nodes")


def test_memory_that_runs_out_is_recognized(probe: Probe) -> None:
    """The output of 64 PB is more than any machine has."""
    (found,) = probe(of("huge", batch_size=4 * 10**6, input={"shape": [1], "value": 1.0}))
    assert found["exhausted"], found["error"]


def test_ranks_with_different_graphs_are_refused(probe: Probe, files: Path, tmp_path: Path) -> None:
    for rank, name in enumerate(("mlp", "matmul")):
        (tmp_path / str(rank)).mkdir()
        (tmp_path / str(rank) / "net.onnx").write_bytes((files / f"{name}.onnx").read_bytes())
    (found,) = probe(of("net", tasks_per_node=2), folder=tmp_path, ranks=2, FOLDER_PER_RANK=1)
    assert found["error"] == "'net.onnx' has different graphs on ranks 0 and 1"


def test_a_sweep_runs_a_file_on_two_replicas(with_environments: Callable[..., Any], files: Path) -> None:
    command_line = with_environments("onnxruntime")
    (command_line.workspace / "nets").mkdir()
    (command_line.workspace / "nets" / "mlp.onnx").write_bytes((files / "mlp.onnx").read_bytes())
    own = {"framework": "onnxruntime", "model": None, "model_options": {}, "batch_size": 4}
    axes = {"model": [{"onnx": "nets/mlp.onnx"}], "tasks_per_node": [1, 2]}
    command_line("sweep", command_line.experiment(parameters=own, matrix=axes), "--local")
    records = command_line.records()
    assert [each["status"] for each in records] == ["completed"] * 2, records
    assert {each["work"]["items_per_step"] for each in records} == {4, 8}
    assert {each["parameters"]["task"] for each in records} == {"inference"}
    rows = command_line.report()
    assert {row["model"] for row in rows} == {"onnx:nets/mlp.onnx"}
    assert {(row["parameter_count"], row["flops_per_item"]) for row in rows} == {("30", "50")}
    assert {row["effective_intra_op_threads"] for row in rows} == {"1"}
