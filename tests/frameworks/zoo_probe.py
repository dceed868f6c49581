"""One rank of models of torchvision, timm and transformers: built, stepped, and described."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from hpcbench_carried.node.errors import BadModel
from hpcbench_carried.node.frameworks import load
from hpcbench_carried.node.launch.ranks import from_environment
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.workload import problem


def described(parameters: dict[str, Any], group: Group) -> dict[str, Any]:
    """Return what one model computes, or why it is refused."""
    try:
        network = load("pytorch").build(problem.of_case(parameters, group))
    except BadModel as error:
        return {"error": str(error)}
    step = network.train if parameters["task"] == "training" else network.infer
    values = [float(network.to_numpy(step()).ravel()[0]) for _ in range(2)]
    work = network.work
    return {
        "parameter_count": work.parameter_count,
        "flops_per_item": work.flops_per_item,
        "input_shapes": work.input_shapes,
        "values": values,
        "remarks": network.remarks(),
    }


group = Group(from_environment(os.environ))
sys.stdout.write(json.dumps([described(each, group) for each in json.loads(sys.argv[1])]) + "\n")
