"""Run in a framework's own environment: what its input pipeline makes of real data.

A question to answering.py: pipelines FRAMEWORK EXECUTION PARAMETERS.json FOLDER

PARAMETERS.json has the parameters of a case by name; FOLDER gets NAME.npz for each.
"""

import json
from itertools import islice
from pathlib import Path

import numpy
from hpcbench_carried.node.launch.ranks import Ranks
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.worker.validation.data_check import check_data
from hpcbench_carried.node.workload import problem
from probing import adapter_of


def main(framework, execution, given, folder):
    adapter = adapter_of(framework)
    for name, asked in json.loads(Path(given).read_text()).items():
        parameters = {**asked, "framework": framework, "execution": execution}
        network = adapter.build(problem.of_case(parameters, Group(Ranks(0, 1))))
        alone = adapter.build(problem.of_case({**parameters, "task": "input_pipeline"}, Group(Ranks(0, 1))))
        found = {**brought(network, parameters["batch_size"]), **brought_alone(alone)}
        numpy.savez(Path(folder, f"{name}.npz"), **found)


def brought_alone(network):
    """One epoch of the task input_pipeline, which has no weights."""
    batches = []
    for _ in range(network.problem.steps_per_epoch):
        batches.append(pixels(network, network.fetch()[0]))
        network.synchronize()
    return {"alone_inputs": numpy.concatenate(batches), "alone_weights": len(list(network.weights()))}


def brought(network, batch_size):
    split = network.problem.split
    tested = list(network.pipeline(split.held_out, forever=False))
    steps = len(split.training.labels) // batch_size
    trained = list(islice(network.pipeline(split.training, forever=True), 2 * steps))
    checked = check_data(network).data
    return {
        "check": [checked.items, checked.repeated_items, checked.missing_items, checked.dropped_items],
        "reshuffled": checked.reshuffled,
        "counted": split.counted,
        "tested_inputs": numpy.concatenate([pixels(network, inputs) for inputs, _ in tested]),
        "tested_labels": numpy.concatenate([network.to_numpy(labels) for _, labels in tested]),
        "trained_inputs": numpy.concatenate([pixels(network, inputs) for inputs, _ in trained]),
        "trained_labels": numpy.concatenate([network.to_numpy(labels) for _, labels in trained]),
        "logits": network.to_numpy(network.predict(tested[0][0])),
    }


def pixels(network, inputs):
    """Channels first, whatever the framework's own layout."""
    array = network.to_numpy(inputs)
    return array.transpose(0, 3, 1, 2) if array.ndim == 4 and array.shape[-1] == 3 else array
