"""ONNX files in ONNX Runtime: what they compute, the threads of their session, or why they are refused.

A question to answering.py: onnx_probe FOLDER CASES

The files of CASES, the parameters of cases as JSON, are in FOLDER or, with FOLDER_PER_RANK, in the rank's folder of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import onnxruntime
from hpcbench_carried.node import frameworks
from hpcbench_carried.node.errors import BadModel, Unsupported
from hpcbench_carried.node.host import gpus
from hpcbench_carried.node.workload import problem
from probing import own_group

if "SYNTHESIZED_GPU" in os.environ:  # a GPU, and a build with CUDA whose libraries cannot be loaded
    gpus.count = lambda: 1
    onnxruntime.get_available_providers = lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"]


def affinities() -> list[list[int]]:
    """Return the CPUs of each thread of this process."""
    return [sorted(os.sched_getaffinity(int(task.name))) for task in Path("/proc/self/task").iterdir()]


def described(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what one file computes, or why it is refused."""
    adapter = type(frameworks.load("onnxruntime"))()
    try:
        adapter.set_threads(parameters["intra_op_threads"], parameters["inter_op_threads"])
        network = adapter.build(problem.of_case(parameters, own_group()))
        output = network.to_numpy(network.infer())
    except (BadModel, Unsupported) as error:
        cause = error.__cause__
        exhausted = cause is not None and adapter.is_out_of_memory(cause)
        return {"refused": type(error).__name__, "error": str(error), "exhausted": exhausted}
    work = network.work
    arrays, _ = network.synthetic_batch(network.problem)
    return {
        "parameter_count": work.parameter_count,
        "flops_per_item": work.flops_per_item,
        "fingerprint": work.graph_fingerprint,
        "input_shapes": work.input_shapes,
        "inputs": {name: array.tolist() for name, array in arrays.items()},
        "dtypes": {name: str(array.dtype) for name, array in arrays.items()},
        "output": output.tolist(),
        "remarks": network.remarks(),
        "threads": adapter.threads(),
        "settings": adapter.settings(),
        "affinities": affinities(),
    }


def main(folder: str, cases: str) -> list[dict[str, Any]]:
    """Return what each file computes, or why it is refused."""
    os.chdir(folder)
    if "FOLDER_PER_RANK" in os.environ:  # as on disks of the nodes
        os.chdir(str(own_group().rank))
    return [described(each) for each in json.loads(cases)]
