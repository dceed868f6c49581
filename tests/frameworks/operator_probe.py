"""Run in a framework's own environment: the results of its operators, compared with the reference in float64.

A question to answering.py: operator_probe FRAMEWORK EXECUTION [DTYPE [OPERATOR...]]

The answer has, for each operator and phase, the largest ratio to the bound of rounding errors, or an error. The
last phase of each operator is validated as the worker does, with the gradient check, unless DTYPE is float64.
"""

import traceback

from hpcbench_carried.models.operators.catalog import OPERATORS, operator_of
from hpcbench_carried.node.launch.ranks import Ranks
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.worker.validation.array_errors import array_error
from hpcbench_carried.node.worker.validation.references import references_of
from hpcbench_carried.node.worker.validation.validate import validate
from hpcbench_carried.node.workload import problem
from probing import adapter_of

# Sizes small enough for seconds in all, and odd enough that exchanged dimensions show.
SIZES = {
    "conv2d": {"n": 2, "c_in": 3, "h": 9, "w": 11, "c_out": 5, "filter_w": 2, "pad_w": 0, "stride_h": 2},
    "gemm": {"m": 7, "n": 5, "k": 13, "a_trans": True},
    "sparse_gemm": {"m": 20, "n": 5, "k": 30},
    "bmm": {"batch": 3, "m": 4, "n": 5, "k": 6},
    "linear": {"rows": 4, "inputs": 9, "outputs": 6},
    "attention": {"batch": 2, "heads": 3, "time": 7, "head_size": 4, "causal": True},
    "lstm": {"inputs": 5, "hidden": 6, "batch": 3, "timesteps": 4},
    **{name: {"hidden": 6, "batch": 3, "timesteps": 4} for name in ("lstm_cell", "gru_cell", "rnn_cell")},
    "softmax": {"rows": 4, "columns": 9},
    "layer_norm": {"rows": 4, "features": 9},
    "batch_norm": {"n": 2, "c": 3, "h": 4, "w": 5},
    "pooling": {"n": 2, "c": 3, "h": 9, "w": 8, "kernel": 3, "stride": 2, "pad": 1},
    "sum": {"rows": 4, "columns": 9},
    "cross_entropy": {"rows": 4, "classes": 9},
    **{name: {"size": 1000} for name in ("mse", "relu", "gelu", "tanh", "add", "dropout")},
    "embedding": {"vocabulary": 11, "width": 5, "tokens": 20},
    "transpose": {"rows": 4, "columns": 9},
    "concat": {"n": 2, "c": 3, "h": 4, "w": 5},
    "flatten": {"n": 2, "c": 3, "h": 4, "w": 5},
}
VARIANTS = {
    "cross_entropy": [{"classes": 1000}],
    "gemm": [{"b_trans": True}, {"a_trans": False}],
    "attention": [{"causal": False}],
    "batch_norm": [{"training": False}],
    "pooling": [{"mode": "average"}, {"mode": "global_average"}],
    "conv2d": [{"n": 1, "filter_h": 1, "pad_h": 0}],
}


def parameters(name, sizes, phase, execution, dtype):
    return {
        "task": "operator",
        "operator": name,
        "sizes": sizes,
        "phase": phase,
        "strategy": "single",
        "device": "cpu",
        "dtype": dtype,
        "execution": execution,
        "compile_mode": None,
        "seed": 3,
    }


def validation(adapter, name, sizes, phase, execution, dtype):
    """The verdict on a phase, its reason, the largest ratio, and how the gradients were checked; or what went wrong."""
    try:
        asked = problem.of_case(parameters(name, sizes, phase, execution, dtype), Group(Ranks(0, 1)))
        computation = adapter.build(asked)
        found = validate(computation, None, [])
        check = found.gradient_check
        return {
            "verdict": found.verdict,
            "reason": found.reason,
            "ratio": found.worst.ratio if found.worst else None,
            "check": check and {"dtype": check.dtype, "error": check.error, "reason": check.reason},
            "has_forward_result": computation.call.forward_result() is not None,
        }
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"


def ratios(adapter, name, sizes, phase, execution, dtype):
    """The largest ratio of the results to the bounds, or what went wrong."""
    try:
        of_case = "float32" if dtype == "float64" else dtype
        asked = problem.of_case(parameters(name, sizes, phase, execution, of_case), Group(Ranks(0, 1)))
        computation = adapter.build(asked)
        request = in_float64(computation.request) if dtype == "float64" else computation.request
        call = computation.called_with(request) if dtype == "float64" else computation.call
        found = call.results()
        expected = references_of(request)
        computation.synchronize()
        return max(array_error(each, found[each], expected[each], dtype).ratio for each in expected)
    except NotImplementedError:
        return {each: list(array.shape) for each, array in found.items()}  # a random result
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"


def in_float64(request):
    """A request as a gradient check makes it: no case has this data type."""

    def wide(array):
        return array.astype("float64") if array.dtype == "float32" else array

    arrays = {name: wide(array) for name, array in request.arrays.items()}
    return request._replace(dtype="float64", arrays=arrays, cotangent=wide(request.cotangent))


def main(framework, execution, dtype="float32", *names):
    adapter = adapter_of(framework)
    answers = {}
    for name in names or OPERATORS:
        for variant in [{}, *VARIANTS.get(name, [])]:
            sizes = {**SIZES[name], **variant}
            operator = operator_of(name, sizes)
            phases = operator.known_phases()
            for phase in phases:
                key = " ".join([name, phase, *(f"{size}={value}" for size, value in variant.items())])
                is_validated = phase == phases[-1] and not variant and dtype != "float64"
                ask = validation if is_validated else ratios
                answers[key] = ask(adapter, name, sizes, phase, execution, dtype)
    return answers
