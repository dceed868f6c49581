"""Run in a framework's own environment: what the framework makes of every network, as arrays for test_equal_work.py.

A question to answering.py: solve FRAMEWORK EXECUTION RESULT.npz
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy
from hpcbench_carried.models.blocks import EncoderLayer
from hpcbench_carried.models.layers import Dropout
from hpcbench_carried.node.launch.ranks import Ranks
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.workload import problem
from probing import adapter_of

# `parts` keeps these layers only. `steps` are those of training, none where so deep a network with batch norm amplifies
# rounding: PyTorch's own float32 and float64 differ by a tenth then. A part of such a network does not.
NETWORKS = json.loads(Path(__file__).with_name("small_networks.json").read_text())
STEPS = 3


def main(framework, execution, result):
    adapter = adapter_of(framework)
    arrays = {}
    for name, asked in NETWORKS.items():
        network = build(adapter, framework, execution, asked, "inference")
        arrays[name + ".parameter_count"] = numpy.array(network.work.parameter_count)
        arrays[name + ".flops_per_item"] = numpy.array(network.work.flops_per_item)
        arrays[name + ".output"] = network.to_numpy(network.infer())
        steps = asked.get("steps", STEPS)
        if steps:
            network = build(adapter, framework, execution, asked, "training")
            arrays[name + ".losses"] = numpy.array([float(network.to_numpy(network.train())) for _ in range(steps)])
            arrays[name + ".trained"] = numpy.array(sum(numpy.asarray(weight).size for weight in network.weights()))
    numpy.savez(result, **arrays)


def build(adapter, framework, execution, asked, task):
    parameters = {
        "framework": framework,
        "execution": execution,
        "model": asked["model"],
        "model_options": asked["options"],
        "task": task,
        "strategy": "single",
        "device": "cpu",
        "dtype": "float32",
        "batch_size": 4,
        "seed": 3,
        "optimizer": {"name": "momentum", "learning_rate": asked.get("learning_rate", 0.01)},
        "data": None,
        "intra_op_threads": 1,
        "inter_op_threads": None,
        "compile_mode": None,
    }
    whole = problem.of_case(parameters, Group(Ranks(0, 1)))
    kept = [layer for start, end in asked.get("parts", [[0, None]]) for layer in whole.layers[start:end]]
    return adapter.build(replace(whole, layers=without_dropout(kept) if task == "training" else kept))


def without_dropout(chain):
    """Training with dropout is random."""
    kept = [layer for layer in chain if not isinstance(layer, Dropout)]
    return [replace(layer, dropout=0.0) if isinstance(layer, EncoderLayer) else layer for layer in kept]
