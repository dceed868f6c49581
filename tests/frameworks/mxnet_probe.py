"""Run in MXNet's own environment: what the adapter does there, as JSON for test_mxnet.py.

PYTHONPATH=node.pyz python mxnet_probe.py PROBE EXECUTION [STRATEGY]
"""

import json
import os
import resource
import sys
from pathlib import Path

import numpy
from hpcbench_node import frameworks, hardware, outcomes, problem
from hpcbench_node.group import Group
from hpcbench_node.ranks import from_environment

TINY = {
    "mlp": {"input_size": 5, "hidden_size": 6, "classes": 3},
    "lstm": {"input_size": 3, "hidden_size": 4, "sequence_length": 5, "classes": 3},
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
        self.adapter = frameworks.load("mxnet")
        self.group = Group(from_environment(os.environ))
        self.execution, self.strategy = execution, strategy

    def build(self, model="mlp", options=None, **changes):
        parameters = {
            "execution": self.execution,
            "model": model,
            "model_options": options or TINY[model],
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
        """What the adapter says, and how many threads the process has after an inference."""
        self.adapter.set_threads(*(int(os.environ[name]) or None for name in ("INTRA", "INTER")))
        network = self.build("alexnet", batch_size=8, task="inference")
        network.infer()
        network.synchronize()
        return {"all": len(list(Path("/proc/self/task").iterdir())), "said": self.adapter.threads()}

    def modes(self):
        """How often Python runs the model in three steps."""
        network = self.build(task="inference")
        layer, calls = type(network.model[0]), []
        forward = layer.hybrid_forward
        layer.hybrid_forward = lambda block, *given, **named: (
            calls.append(block is network.model[0]),
            forward(block, *given, **named),
        )[1]
        for _ in range(3):
            network.infer()
        return sum(calls)

    def refusals(self):
        said = {}
        asked = {
            "float16": {"dtype": "float16"},
            "gpu": {"device": "gpu"},
            "lstm": {"dtype": "bfloat16", "model": "lstm"},
            "transformer": {"dtype": "bfloat16", "model": "transformer"},
            "bfloat16": {"dtype": "bfloat16"},
        }
        for name, changes in asked.items():
            hardware.cpu_computes_in = lambda dtype, name=name: name != "bfloat16"
            try:
                self.build(**changes)
            except outcomes.Unsupported as error:
                said[name] = str(error)
        return said

    def evaluation(self):
        """How far a prediction in the midst of training is from inference with the same weights."""
        distances = {}
        for model in ("alexnet", "resnet50", "transformer"):
            training, inference = self.build(model), self.build(model, task="inference")
            inputs = inference.on_device(*inference.problem.batch())[0]
            distances[model] = distance(training, training.predict(inputs), inference.predict(inputs))
            training.train()
        return distances

    def embedding(self):
        """How far the row of a token moves in two steps of which only the first has it."""
        network = self.build("transformer")
        network.learn(*network.on_device(numpy.full((2, 4), 1, numpy.int32), numpy.zeros(2, numpy.int32)))
        first = row_of_token_1(network)
        network.learn(*network.on_device(numpy.full((2, 4), 2, numpy.int32), numpy.zeros(2, numpy.int32)))
        return float(abs(row_of_token_1(network) - first).max())

    def bfloat16(self):
        """How far from float32 a network is that computes in bfloat16, and what oneDNN says that it does then."""
        exact = self.build("alexnet", task="inference")
        expected = exact.to_numpy(exact.infer())
        network = self.build("alexnet", task=os.environ["TASK"], dtype="bfloat16")
        network.synchronize()
        tell("bfloat16 from here on")
        found = network.to_numpy(network.infer())
        if network.problem.training:
            network.train()
            network.synchronize()
        return {"distance": float(abs(found - expected).max() / abs(expected).max()), "mode": network.work.math_mode}

    def memory(self):
        """Where too large a step fails, and whether the adapter sees why."""
        network = self.build(options={**TINY["mlp"], "hidden_size": 4096}, batch_size=16384, task="inference")
        network.synchronize()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, -1))
        network.infer()
        try:
            network.synchronize()
        except Exception as error:
            return {"out_of_memory": self.adapter.is_out_of_memory(error), "type": type(error).__name__}
        return {}

    def averaging(self):
        """One step of all ranks, beside the mean of what the same step makes of each rank's weights alone."""
        together = self.build()
        together.train()
        self.strategy = "single"
        alone = self.build()
        alone.train()
        found = [weight.tolist() for weight in together.weights()]
        ranks = self.group.gather([weight.tolist() for weight in alone.weights()])
        of_all = self.group.gather(found)
        expected = [sum(map(numpy.array, weights)) / self.group.size for weights in zip(*ranks, strict=True)]
        distances = [abs(mean - weight).max() for mean, weight in zip(expected, found, strict=True)]
        self.group.gather(None)
        before = children()
        together.close()
        return {
            "distance": float(max(distances)),
            "equal": all(weights == of_all[0] for weights in of_all),
            "alone_they_differ": ranks[0] != ranks[-1],
            "children": [len(before), len(children())],
        }

    def forever(self):
        network = self.build()
        network.train()
        network.synchronize()
        self.group.gather(None)
        tell(json.dumps(children()))
        while True:
            network.train()
            network.synchronize()


def distance(network, found, expected):
    difference = network.to_numpy(found) - network.to_numpy(expected)
    return float(abs(difference).max() / abs(network.to_numpy(expected)).max())


def row_of_token_1(network):
    (table,) = (weight for weight in network.weights() if weight.shape == (9, 8))
    return table[1]


def children():
    return [int(child) for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def tell(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    tell(json.dumps(getattr(Probe(*sys.argv[2:]), sys.argv[1])()))
    os._exit(0)  # as the node code does: other ranks may have gone already
