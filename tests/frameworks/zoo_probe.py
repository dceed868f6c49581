"""One rank of models of libraries, or of functions of a user in external_nets.py: built, stepped, and described.

A question to answering.py: zoo_probe CASES STEPS; CASES are the parameters of cases, as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from hpcbench_carried.node.errors import BadModel, Unsupported
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.workload import problem
from probing import adapter_of, own_group


def described(parameters: dict[str, Any], group: Group, steps: int) -> dict[str, Any]:
    """Return what one model computes, or why it is refused."""
    try:
        network = adapter_of(parameters["framework"]).build(problem.of_case(parameters, group))
    except (BadModel, Unsupported) as error:
        return {"refused": type(error).__name__, "error": str(error)}
    step = network.train if parameters["task"] == "training" else network.infer
    values = [float(network.to_numpy(step()).ravel()[0]) for _ in range(steps)]
    work = network.work
    found = {
        "parameter_count": work.parameter_count,
        "flops_per_item": work.flops_per_item,
        "input_shapes": work.input_shapes,
        "values": values,
        "remarks": network.remarks(),
        "fingerprint": work.graph_fingerprint,
        "weights": sum(float(abs(weight).sum()) for weight in network.weights()) if steps else 0.0,
    }
    group.gather(None)
    network.close()
    return found


def main(cases: str, steps: str) -> list[dict[str, Any]]:
    """Return what each case computes in so many steps, or why it is refused."""
    return [described(each, own_group(), int(steps)) for each in json.loads(cases)]
