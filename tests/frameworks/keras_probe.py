"""Run in an environment of Keras: what its models are made of, as JSON for test_keras.py.

A question to answering.py: keras_probe FRAMEWORK PROBE
"""

from unittest import mock

import keras
from hpcbench_carried.node.frameworks.keras.layers import model_of
from probing import TINY, adapter_of, case

BOTH_WAYS = {"model_options": {**TINY["lstm"], "bidirectional": True}}


def asked(model="mlp", **changes):
    return case(model, **{"execution": "compiled", "task": "inference", **changes})


def inputs(adapter):
    """In which format a model takes its batch."""
    formats = {}
    for dtype in ("float32", "bfloat16", "float16"):
        for task in ("inference", "training"):
            model = model_of(asked(task=task, dtype=dtype))
            formats[task + " " + dtype] = model.inputs[0].dtype
    formats["tokens"] = model_of(asked("transformer", dtype="bfloat16")).inputs[0].dtype
    return formats


def cudnn(adapter):
    """Whether the LSTMs may be cuDNN's, and what is remarked of that on a GPU."""
    found = {}
    for execution in ("eager", "graph", "compiled"):
        network = adapter.build(asked("lstm", execution=execution, **BOTH_WAYS))
        layers = [layer for layer in network.model.model.layers if isinstance(layer, keras.layers.Bidirectional)]
        used = {cell.use_cudnn for layer in layers for cell in (layer.forward_layer, layer.backward_layer)}
        network.problem = asked("lstm", execution=execution, device="gpu", **BOTH_WAYS)
        found[execution] = [sorted(used), network.remarks()]
    return found


def optimizers(adapter):
    """How many optimizers of PyTorch training makes."""
    import torch

    made = []
    create = torch.optim.Optimizer.__init__

    def counted(self, *words):
        made.append(self)
        create(self, *words)

    with mock.patch.object(torch.optim.Optimizer, "__init__", counted):
        network = adapter.build(asked(task="training", execution="eager"))
        losses = [float(network.train()) for _ in range(3)]
    return {"made": len(made), "learned": losses[2] < losses[0]}


PROBES = {"inputs": inputs, "cudnn": cudnn, "optimizers": optimizers}


def main(framework, probe):
    return PROBES[probe](adapter_of(framework))
