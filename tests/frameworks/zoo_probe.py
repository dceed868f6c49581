"""One rank of models of libraries, or of functions of a user in external_nets.py: built, stepped, and described."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from hpcbench_carried.node.errors import BadModel, Unsupported
from hpcbench_carried.node.frameworks import load
from hpcbench_carried.node.launch.ranks import from_environment
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.workload import problem


def described(parameters: dict[str, Any], group: Group, steps: int) -> dict[str, Any]:
    """Return what one model computes, or why it is refused."""
    try:
        network = load(parameters["framework"]).build(problem.of_case(parameters, group))
    except (BadModel, Unsupported) as error:
        return {"refused": type(error).__name__, "error": str(error)}
    step = network.train if parameters["task"] == "training" else network.infer
    values = [float(network.to_numpy(step()).ravel()[0]) for _ in range(steps)]
    work = network.work
    return {
        "parameter_count": work.parameter_count,
        "flops_per_item": work.flops_per_item,
        "input_shapes": work.input_shapes,
        "values": values,
        "remarks": network.remarks(),
        "fingerprint": work.graph_fingerprint,
        "weights": sum(float(abs(weight).sum()) for weight in network.weights()) if steps else 0.0,
    }


group = Group(from_environment(os.environ))
cases, steps = json.loads(sys.argv[1]), int(sys.argv[2])
sys.stdout.write(json.dumps([described(each, group, steps) for each in cases]) + "\n")
sys.stdout.flush()
group.gather(None)
os._exit(0)  # as the node code does: other ranks may have gone already
