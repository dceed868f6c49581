"""The node command list-operators in environments of frameworks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import from_json
from hpcbench.predict.aten.convert import converted
from hpcbench.predict.tables import operators as table
from hpcbench.submit.zipapp import node_zipapp

HERE = Path(__file__).parent
CUSTOM = """
import sys
sys.path.insert(0, sys.argv[1])
import onnx
from onnx_graphs import model, node, value, weight
nodes = [node("MatMul", "x k", "a"), node("Whirl", "a", "b", "mine"), node("Relu", "b")]
made = model(nodes, [value("x", "batch", 3)], [weight("k", 3, 5)])
made.opset_import.append(onnx.helper.make_opsetid("mine", 1))
onnx.save(made, "custom.onnx")
"""
COMPUTED = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy, onnx
from onnx import numpy_helper
from onnx_graphs import model, node, value, weight
numbers = {"zero": 0, "axis": [0], "two": 2, "last": [-1], "four": [4]}
constants = [numpy_helper.from_array(numpy.array(each, "int64"), name) for name, each in numbers.items()]
nodes = [
    node("Shape", "x", "sizes"), node("Gather", "sizes zero", "n", axis=0), node("Mul", "n two", "twice"),
    node("Div", "twice two", "half"), node("Unsqueeze", "half axis", "first"),
    node("Concat", "first four last", "shape", axis=0), node("Reshape", "x shape", "a"),
    node("MatMul", "a k", "b"), node("Add", "b bias", "c"), node("Transpose", "c", "t", perm=[0, 2, 1]),
    node("Mul", "t factor", "s"), node("MatMul", "c s", "scores"), node("Softmax", "scores"),
]
factor = numpy_helper.from_array(numpy.array(0.5, "float32"), "factor")
weights = [*constants, weight("k", 6, 5), weight("bias", 5), factor]
onnx.save(model(nodes, [value("x", "batch", 24)], weights, opset=17), "computed.onnx")
"""
CONDITION = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy, onnx
from onnx import helper, numpy_helper
from onnx_graphs import model, node, value, weight
def branch(name, operator):
    return helper.make_graph([operator], name, [], [helper.make_empty_tensor_value_info(operator.output[0])])
branches = {"then_branch": branch("then", node("MatMul", "x k", "p"))}
branches["else_branch"] = branch("else", node("Relu", "x", "r"))
constants = [numpy_helper.from_array(numpy.array(2, "int64"), "two"), numpy_helper.from_array(numpy.array(0), "zero")]
nodes = [node("Shape", "x", "sizes"), node("Gather", "sizes zero", "n"), node("Equal", "n two", "c")]
if not KNOWN:
    nodes = [node("ReduceSum", "x", "s", keepdims=0), node("Cast", "s", "c", to=onnx.TensorProto.BOOL)]
nodes += [node("If", "c", "a", **branches), node("Relu", "a")]
onnx.save(model(nodes, [value("x", "batch", 3)], [*constants, weight("k", 3, 5)]), "condition.onnx")
"""
NORMALIZED = """
import sys
sys.path.insert(0, sys.argv[1])
import onnx
from onnx_graphs import model, node, value, weight
weights = [weight("k", 4, 3, 3, 3), *(weight(name, 4) for name in ("s", "b", "m", "v"))]
nodes = [node("Conv", "x k", "a"), node("BatchNormalization", "a s b m v", "c"), node("Relu", "c", "d")]
nodes += [node("BatchNormalization", "d s b m v")]
onnx.save(model(nodes, [value("x", "batch", 3, 8, 8)], weights), "normalized.onnx")
"""
REPEATED = CONDITION.replace(
    'node("Relu", "a")]',
    'node("If", "c", "d", **branches), node("Relu", "a"), node("Relu", "d", "e")]',
)
OF_DATA = """
import sys
sys.path.insert(0, sys.argv[1])
import onnx
from onnx_graphs import model, node, value, weight
nodes = [node("NonZero", "x", "places"), node("Cast", "places", "numbers", to=onnx.TensorProto.FLOAT)]
nodes += [node("Transpose", "numbers", "rows", perm=[1, 0]), node("MatMul", "rows k")]
onnx.save(model(nodes, [value("x", "batch", 3)], [weight("k", 2, 5)]), "of_data.onnx")
"""
EIGHT_BITS = """
import sys
sys.path.insert(0, sys.argv[1])
import onnx
from onnx_graphs import model, node, value
kinds = onnx.TensorProto
nodes = [node("Cast", "x", "small", to=kinds.FLOAT8E4M3FN), node("Cast", "small", to=kinds.FLOAT)]
onnx.save(model(nodes, [value("x", "batch", 3)]), "eight_bits.onnx")
"""
LAST_STATE = """
import sys
sys.path.insert(0, sys.argv[1])
import onnx
from onnx_graphs import model, node, value, weight
nodes = [node("Transpose", "x", "steps", perm=[1, 0, 2]), node("LSTM", "steps k r", "- y", hidden_size=4)]
onnx.save(model(nodes, [value("x", "batch", 5, 3)], [weight("k", 1, 16, 3), weight("r", 1, 16, 4)]), "last_state.onnx")
"""
Listed = Callable[..., list[OperatorList]]


@pytest.fixture
def listed(environment_python: Callable[[str], Path], tmp_path: Path) -> Listed:
    """The operators of cases, listed in an environment."""
    zipapp = tmp_path / "node.pyz"
    zipapp.write_bytes(node_zipapp())

    def make(environment: str, *cases: dict[str, Any]) -> list[OperatorList]:
        job, result = tmp_path / "job.jsonl", tmp_path / "result.jsonl"
        planned = [Parameters.model_validate({"batch_size": 2, **each}).planned() for each in cases]
        runs = [PlannedRun(f"c{place}", place, 1, 0, each, {}, {}) for place, each in enumerate(planned)]
        job.write_text("".join(each.as_line() + "\n" for each in runs), encoding="utf-8")
        words = [environment_python(environment), "-Es", zipapp, "list-operators", job, result]
        subprocess.run(words, check=True, cwd=tmp_path)
        return [from_json(OperatorList, json.loads(line)) for line in result.read_text(encoding="utf-8").splitlines()]

    return make


@pytest.mark.framework
def test_an_onnx_file_with_a_custom_operator(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """The shape of its output is unknown, and therefore its bytes and its fraction of the time."""
    script = [environment_python("onnxruntime"), "-c", CUSTOM, HERE]
    subprocess.run(script, check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:custom.onnx"})
    expected = "model: the bytes of mine.Whirl are unknown: ONNX does not define this operator"
    assert (found.reason, list(found.operators)) == (expected, [])


@pytest.mark.framework
def test_an_onnx_file_with_an_operator_of_onnx_runtime(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    graph = CUSTOM.replace('node("Whirl", "a", "b", "mine")', 'node("Gelu", "a", "b", "com.microsoft")')
    subprocess.run([environment_python("onnxruntime"), "-c", graph, HERE], check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:custom.onnx"})
    assert (found.reason, found.parameter_count) == ("", 15)
    rows = converted(pd.DataFrame([asdict(each) for each in found.operators]))
    assert rows["kind"].tolist() == [table.GEMM, table.UNKNOWN, table.UNKNOWN]  # the shape after it is unknown
    assert rows.loc[0, ["m", "n", "k"]].tolist() == [2, 5, 3]
    assert (rows.loc[0, "flops"], rows.loc[0, "bytes"]) == (2 * 2 * 5 * 3, 4 * (6 + 15 + 10))


@pytest.mark.framework
@pytest.mark.parametrize("known", [True, False])
def test_an_onnx_file_with_a_condition(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path, known: bool
) -> None:
    script = CONDITION.replace("KNOWN", str(known))
    subprocess.run([environment_python("onnxruntime"), "-c", script, HERE], check=True, cwd=tmp_path)
    case = {"framework": "onnxruntime", "model": "onnx:condition.onnx"}
    (found,) = listed("onnxruntime", case)
    assert found.reason == ("" if known else "model: the FLOPs of MatMul are unknown: it is inside If")
    rows = converted(pd.DataFrame([asdict(each) for each in found.operators])) if known else pd.DataFrame()
    assert not known or rows["kind"].tolist() == [table.GEMM, table.POINTWISE]


@pytest.mark.framework
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (REPEATED.replace("KNOWN", "True"), "it is inside If"),
        (OF_DATA, "the shape of its input 'rows' is unknown"),
    ],
    ids=["two branches with the same names", "a shape that depends on data"],
)
def test_an_onnx_file_with_a_product_of_unknown_work(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path, script: str, reason: str
) -> None:
    subprocess.run([environment_python("onnxruntime"), "-c", script, HERE], check=True, cwd=tmp_path)
    (name,) = (each.name for each in tmp_path.glob("*.onnx"))
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": f"onnx:{name}"})
    assert (found.reason, list(found.operators)) == (f"model: the FLOPs of MatMul are unknown: {reason}", [])


@pytest.mark.framework
def test_bytes_of_onnx_data_types_with_several_numbers_in_their_names(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    subprocess.run([environment_python("onnxruntime"), "-c", EIGHT_BITS, HERE], check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:eight_bits.onnx"})
    assert [each.bytes_moved for each in found.operators] == [2 * 3 * (4 + 1)] * 2


@pytest.mark.framework
def test_a_recurrent_layer_of_an_onnx_file_may_leave_out_the_outputs_of_its_steps(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    subprocess.run([environment_python("onnxruntime"), "-c", LAST_STATE, HERE], check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:last_state.onnx"})
    flops = {each.operator: each.flops for each in found.operators}
    assert (found.reason, flops["onnx.LSTM"]) == ("", 2 * (2 * 5) * 16 * (3 + 4))  # 2 items of 5 steps


@pytest.mark.framework
def test_an_onnx_file_that_computes_its_shapes(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """The bias, the scale and the transposition are fused into the products; operators on shapes are left out."""
    subprocess.run([environment_python("onnxruntime"), "-c", COMPUTED, HERE], check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:computed.onnx"})
    assert found.reason == ""
    rows = converted(pd.DataFrame([asdict(each) for each in found.operators]))
    assert rows["kind"].tolist() == [table.GEMM, table.BATCHED_GEMM, table.SOFTMAX]
    assert rows.loc[:1, ["batch", "m", "n", "k"]].values.tolist() == [[1, 8, 5, 6], [2, 4, 4, 5]]


@pytest.mark.framework
def test_a_batch_normalization_is_fused_into_the_convolution_before_it(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    subprocess.run([environment_python("onnxruntime"), "-c", NORMALIZED, HERE], check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:normalized.onnx"})
    rows = converted(pd.DataFrame([asdict(each) for each in found.operators]))
    assert rows["kind"].tolist() == [table.CONV, table.POINTWISE, table.BATCH_NORM]


@pytest.mark.framework
def test_an_onnx_file_with_products_after_an_operator_of_onnx_runtime(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    graph = CUSTOM.replace('node("Relu", "b")', 'node("Relu", "b", "c"), node("MatMul", "c k", "d")')
    graph = graph.replace('node("Whirl", "a", "b", "mine")', 'node("Gelu", "a", "b", "com.microsoft")')
    subprocess.run([environment_python("onnxruntime"), "-c", graph, HERE], check=True, cwd=tmp_path)
    (found,) = listed("onnxruntime", {"framework": "onnxruntime", "model": "onnx:custom.onnx"})
    expected = (
        "model: the FLOPs of MatMul are unknown: it follows com.microsoft.Gelu, an operator that ONNX does not define"
    )
    assert (found.reason, list(found.operators)) == (expected, [])


@pytest.mark.framework
@pytest.mark.parametrize("model", ["torchvision/resnet18", "timm/vit_tiny_patch16_224", "transformers/distilbert"])
def test_networks_of_libraries(listed: Listed, model: str) -> None:
    case = {"framework": "pytorch", "model": model}
    inference, training = listed("pytorch-zoo", {**case, "task": "inference"}, {**case, "task": "training"})
    assert (inference.reason, training.reason) == ("", "")
    assert inference.parameter_count == training.parameter_count
    for each in (inference, training):
        rows = pd.DataFrame([asdict(one) for one in each.operators])
        found = converted(rows)
        moved = found["bytes"] * rows["calls"].to_numpy()[found["origin"]]
        assert moved[found["kind"] == table.UNKNOWN].sum() <= 0.01 * moved.sum()


@pytest.mark.framework
def test_an_onnx_file_has_its_dtype_and_a_reason_for_too_large_inputs(
    listed: Listed, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    graph = CUSTOM.replace('node("Whirl", "a", "b", "mine")', 'node("Relu", "a", "b")')
    graph = graph.replace('value("x", "batch", 3)', 'value("x", "batch", "rows", "columns", 3)')
    subprocess.run([environment_python("onnxruntime"), "-c", graph, HERE], check=True, cwd=tmp_path)
    case = {"framework": "onnxruntime", "model": "onnx:custom.onnx"}
    sizes = ([8, 8, 3], [10**9, 10**9, 3])
    small, large = listed("onnxruntime", *({**case, "input": {"shape": each}} for each in sizes))
    assert (small.reason, small.dtype) == ("", "float32")
    assert "too large" in large.reason
