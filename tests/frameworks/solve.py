"""Run in a framework's own environment: what the framework makes of every model, as arrays for test_equal_work.py.

PYTHONPATH=node.pyz python solve.py FRAMEWORK EXECUTION RESULT.npz [MODEL...]
"""

import sys
from dataclasses import replace

import numpy
from hpcbench_node import frameworks, problem
from hpcbench_node.group import Group
from hpcbench_node.layers import Dropout, EncoderLayer
from hpcbench_node.ranks import Ranks

SMALL = {
    "mlp": {"input_size": 20, "hidden_size": 30, "classes": 10},
    "lstm": {"input_size": 7, "hidden_size": 16, "sequence_length": 9},
    "alexnet": {"image_size": 63, "classes": 10},
    "vgg16": {"image_size": 32, "classes": 10},
    "resnet50": {"image_size": 64, "classes": 10},
    "inception_v3": {"image_size": 75, "classes": 10},
    "transformer": {
        "hidden_size": 32,
        "layers": 2,
        "heads": 4,
        "feed_forward_size": 48,
        "vocabulary": 50,
        "positions": 20,
        "sequence_length": 12,
        "classes": 3,
    },
}
BOTH_WAYS = {**SMALL["lstm"], "bidirectional": True}
WITH_BATCH_NORM = ("resnet50", "inception_v3")
STEPS = 3


def main(framework, execution, result, models):
    adapter = frameworks.load(framework)
    adapter.set_threads(1, None)
    arrays = {}
    for model in models or SMALL:
        for options, name in [(SMALL[model], model)] + [(BOTH_WAYS, "lstm_both_ways")] * (model == "lstm"):
            network = build(adapter, framework, execution, model, options, "inference")
            arrays[name + ".parameter_count"] = numpy.array(network.work.parameter_count)
            arrays[name + ".flops_per_item"] = numpy.array(network.work.flops_per_item)
            arrays[name + ".output"] = network.to_numpy(network.infer())
            network = build(adapter, framework, execution, model, options, "training")
            losses = [float(network.to_numpy(network.train())) for _ in range(STEPS)]
            # With batch norm, so deep a network amplifies rounding: PyTorch's float32 and float64 differ by a tenth.
            arrays[name + ".losses"] = numpy.array(losses[:1] if model in WITH_BATCH_NORM else losses)
            trained = sum(numpy.asarray(weight).size for weight in network.weights())
            assert trained == network.parameter_count, (name, trained, network.parameter_count)
    numpy.savez(result, **arrays)


def build(adapter, framework, execution, model, options, task):
    parameters = {
        "framework": framework,
        "execution": execution,
        "model": model,
        "model_options": options,
        "task": task,
        "strategy": "single",
        "device": "cpu",
        "dtype": "float32",
        "batch_size": 4,
        "seed": 3,
        "learning_rate": 0.01,
        "data": None,
        "intra_op_threads": 1,
        "inter_op_threads": None,
    }
    asked = problem.state(parameters, Group(Ranks(0, 1)))
    if task == "training":
        asked = replace(asked, layers=without_dropout(asked.layers))
    return adapter.build(asked)


def without_dropout(chain):
    """Training with dropout is random."""
    kept = [layer for layer in chain if not isinstance(layer, Dropout)]
    return [replace(layer, dropout=0.0) if isinstance(layer, EncoderLayer) else layer for layer in kept]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
