"""What the scripts that run in a framework's own environment share: tiny networks, and questions to any adapter."""

import functools
import json
import os
import sys
from pathlib import Path

import numpy
from hpcbench_carried.node import frameworks
from hpcbench_carried.node.launch.ranks import Ranks, from_environment
from hpcbench_carried.node.launch.rendezvous import Group
from hpcbench_carried.node.workload import problem

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


@functools.cache
def own_group():
    """The ranks of this process, connected once."""
    return Group(from_environment(os.environ))


@functools.cache
def adapter_of(framework):
    """The adapter of a framework with one thread, which is set before its first operation."""
    adapter = frameworks.load(framework)
    adapter.set_threads(1, None)
    return adapter


def case(model="mlp", group=None, **changes):
    """The problem of a case of a tiny network: alone, unless a group is given."""
    parameters = {
        "model": model,
        "model_options": TINY.get(model),
        "task": "training",
        "strategy": "single",
        "device": "cpu",
        "dtype": "float32",
        "batch_size": 2,
        "seed": 3,
        "optimizer": {"name": "momentum", "learning_rate": 0.1},
        "data": None,
        "compile_mode": None,
        **changes,
    }
    return problem.of_case(parameters, group or Group(Ranks(0, 1)))


class Probe:
    """One framework by one of its ways of execution; each method is a question."""

    framework: str

    def __init__(self, execution, strategy="single"):
        self.adapter = frameworks.load(self.framework)
        self.group = own_group()
        self.execution, self.strategy = execution, strategy

    def build(self, model="mlp", **changes):
        asked = {"execution": self.execution, "strategy": self.strategy, **changes}
        return self.adapter.build(case(model, self.group, **asked))

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
        rows = []
        for token in (1, 2):
            network.learn([network.on_device(numpy.full((2, 4), token, numpy.int32), numpy.zeros(2, numpy.int32))])
            (table,) = (weight for weight in network.weights() if weight.shape == (9, 8))
            rows.append(numpy.array(table[1]))
        return float(abs(rows[1] - rows[0]).max())

    def averaging(self):
        """One step of all ranks, beside the mean of what the same step makes of each rank's weights alone."""
        together = self.build()
        together.train()
        alone = self.build(strategy="single")
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


def children():
    """The processes that this one has started."""
    return [int(child) for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def tell(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main(probe):
    """Answer the question that the command line names; of several, separated by commas, each by its name."""
    questions, *words = sys.argv[1:]
    asked = probe(*words)
    answers = {question: getattr(asked, question)() for question in questions.split(",")}
    tell(answers if "," in questions else answers[questions])
    os._exit(0)  # as the node code does: other ranks may have gone already
