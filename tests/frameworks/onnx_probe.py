"""ONNX files in ONNX Runtime: what they compute, the threads of their session, or why they are refused.

PYTHONPATH=node.pyz python onnx_probe.py CASES

Run in the folder of the files; CASES are the parameters of cases, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import onnxruntime
from hpcbench_carried.node import frameworks
from hpcbench_carried.node.errors import BadModel, Unsupported
from hpcbench_carried.node.host import gpus
from hpcbench_carried.node.launch.ranks import from_environment
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.workload import problem

GROUP = Group(from_environment(os.environ))
if "FOLDER_PER_RANK" in os.environ:  # as on disks of the nodes
    os.chdir(str(GROUP.rank))
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
        network = adapter.build(problem.of_case(parameters, GROUP))
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


sys.stdout.write(json.dumps([described(each) for each in json.loads(sys.argv[1])]) + "\n")
