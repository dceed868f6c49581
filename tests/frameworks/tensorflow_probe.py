"""Run in TensorFlow's own environment: what the adapter does there, as JSON for test_tensorflow.py.

PYTHONPATH=node.pyz python tensorflow_probe.py PROBE EXECUTION [STRATEGY]
"""

import contextlib
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy
import tensorflow as tf
from hpcbench_node import frameworks, hardware, outcomes, problem
from hpcbench_node.data import Items
from hpcbench_node.frameworks import tensorflow, tensorflow_data, tensorflow_strategies
from hpcbench_node.group import Group
from hpcbench_node.ranks import from_environment

TINY = {
    "mlp": {"input_size": 5, "hidden_size": 6, "classes": 3},
    "alexnet": {"image_size": 63, "classes": 3},
    "resnet50": {"image_size": 32, "classes": 3},
    "transformer": {
        "hidden_size": 8,
        "layers": 1,
        "heads": 2,
        "feed_forward_size": 8,
        "vocabulary": 9,
        "positions": 4,
        "sequence_length": 4,
        "classes": 3,
    },
}


class Probe:
    def __init__(self, execution, strategy="single"):
        self.adapter = frameworks.load("tensorflow")
        self.group = Group(from_environment(os.environ))
        self.execution, self.strategy = execution, strategy

    def build(self, model="mlp", **changes):
        parameters = {
            "execution": self.execution,
            "model": model,
            "model_options": TINY[model],
            "task": "training",
            "strategy": self.strategy,
            "device": "cpu",
            "dtype": "float32",
            "batch_size": 2,
            "seed": 3,
            "learning_rate": 0.1,
            "data": None,
            **changes,
        }
        return self.adapter.build(problem.of_case(parameters, self.group))

    def threads(self):
        """What the adapter says, and the threads that there are: those that execute operations, and XLA's."""
        self.adapter.set_threads(*(int(os.environ[name]) or None for name in ("INTRA", "INTER")))
        before = names_of_threads().count(own_name())
        self.build(task="inference").infer()
        names = names_of_threads()
        return {
            "said": self.adapter.threads(),
            "inter_op": names.count("tf_Compute"),
            "intra_op": names.count("tf_XLAEigen") or names.count(own_name()) - before,
        }

    def modes(self):
        """How often Python runs the model in three steps, and whether there is a program of XLA's."""
        network = self.build(task="inference")
        model, calls = network.model, []
        call = type(model).__call__
        type(model).__call__ = lambda *arguments: (calls.append(1), call(*arguments))[1]
        for _ in range(3):
            network.infer()
        inputs = network.on_device(*network.problem.batch())[0]
        try:
            program = network._predict.experimental_get_compiler_ir(inputs)("hlo")
        except (AttributeError, ValueError):
            program = ""
        return {"calls": len(calls), "compiled": "HloModule" in program}

    def refusals(self):
        hardware.cpu_computes_in = lambda dtype: False
        asked = {"bfloat16": {"dtype": "bfloat16"}, "gpu": {"device": "gpu"}}
        asked["float16"] = {"dtype": "float16", "task": "training"}
        said = {}
        for name, changes in asked.items():
            try:
                self.build(**changes)
            except outcomes.Unsupported as error:
                said[name] = str(error)
        return said

    def places(self):
        """Where weights of a case for a GPU must not be, what a strategy is told of GPUs, and where data are put."""
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        said = {}
        try:
            tensorflow._check_places(self.build(task="inference").trained)
        except RuntimeError as error:
            said["weights"] = str(error)
        tf.distribute.MultiWorkerMirroredStrategy = lambda cluster: cluster.num_accelerators()
        for device in ("cpu", "gpu"):
            asked = SimpleNamespace(group=self.group, on_gpu=device == "gpu")
            said[device] = tensorflow_strategies.MultiWorkerMirrored(asked).strategy
        tf.data.Dataset.from_tensor_slices = lambda tensors: said.update(data=tf.constant(1.0).device)
        items = Items(numpy.zeros((1, 5)), numpy.zeros(1))
        with tf.device("/CPU:1"), contextlib.suppress(AttributeError):  # takes the part of a GPU; it gives no data set
            tensorflow_data.batches(None, items, False, tf.float32)
        return said

    def evaluation(self):
        """How far a prediction in the midst of training is from inference with the same weights."""
        distances = {}
        for model in ("alexnet", "resnet50", "transformer"):
            training, inference = self.build(model), self.build(model, task="inference")
            inputs = inference.on_device(*inference.problem.batch())[0]
            expected = inference.to_numpy(inference.predict(inputs))
            found = training.to_numpy(training.predict(inputs))
            distances[model] = float(abs(found - expected).max() / abs(expected).max())
            training.train()
        return distances

    def embedding(self):
        """How far the row of a token moves in two steps of which only the first has it."""
        network = self.build("transformer")
        network.learn(*network.on_device(numpy.full((2, 4), 1, numpy.int32), numpy.zeros(2, numpy.int32)))
        first = row_of_token_1(network)
        network.learn(*network.on_device(numpy.full((2, 4), 2, numpy.int32), numpy.zeros(2, numpy.int32)))
        return float(abs(row_of_token_1(network) - first).max())

    def averaging(self):
        """One step of all ranks, beside the mean of what the same step makes of each rank's weights alone."""
        together = self.build()
        together.train()
        self.strategy = "single"
        alone = self.build()
        alone.train()
        own = [weight.tolist() for weight in alone.weights()]
        ranks = [[numpy.array(weight) for weight in weights] for weights in self.group.gather(own)]
        expected = [sum(weights) / self.group.size for weights in zip(*ranks, strict=True)]
        distances = [abs(found - mean).max() for found, mean in zip(together.weights(), expected, strict=True)]
        differ = any(abs(a - b).max() > 1e-3 for a, b in zip(ranks[0], ranks[-1], strict=True))
        self.group.gather(None)
        return {"distance": float(max(distances)), "alone_they_differ": differ}


def row_of_token_1(network):
    (table,) = (weight for weight in network.weights() if weight.shape == (9, 8))
    return table[1]


def names_of_threads():
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


def own_name():
    """Also of TensorFlow's intra-op threads: the name that it gives them is too long for the kernel."""
    return Path("/proc/self/comm").read_text().strip()


if __name__ == "__main__":
    answer = json.dumps(getattr(Probe(*sys.argv[2:]), sys.argv[1])())
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()
    os._exit(0)  # as the node code does: other ranks may have gone already
