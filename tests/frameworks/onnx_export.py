"""Export small shipped models from PyTorch as ONNX files, with the FLOPs of their formulas.

PYTHONPATH=node.pyz python onnx_export.py PACKAGES

PACKAGES is a folder with the package onnx, which the environment of PyTorch does not have.
"""

from __future__ import annotations

import sys
import warnings

import numpy
import torch
from hpcbench_carried.models import catalog
from hpcbench_carried.models.initial_weights import InitialWeights, Numbers
from hpcbench_carried.node.frameworks.pytorch import layers
from probing import TINY, tell

MODELS = {
    **TINY,
    "inception_v3": {"image_size": 75, "classes": 3},
    "gpt": {"layers": 1, "hidden_size": 8, "heads": 2, "vocabulary": 9, "positions": 4, "sequence_length": 4},
}


def export(name: str) -> int:
    """Write NAME.onnx and the outputs NAME.npy for its first synthetic input; return the FLOPs of the catalog."""
    options = catalog.resolved_options(name, MODELS[name])
    chain, shape = catalog.network(name, options)
    module = layers.sequential(chain, shape, InitialWeights(0)).eval()
    numbers = Numbers(3, 1)  # as in Problem.synthetic_numbers
    if "vocabulary" in options:
        inputs = numbers.integers((2, *shape), options["vocabulary"]).astype(numpy.int64)
    else:
        inputs = numbers.uniform((2, *shape), 3**0.5)
    batch = torch.from_numpy(inputs)
    with torch.no_grad():
        numpy.save(f"{name}.npy", module(batch).numpy())
    axes = {"x": {0: "batch"}}
    torch.onnx.export(module, (batch,), f"{name}.onnx", dynamo=False, input_names=["x"], dynamic_axes=axes)
    return catalog.flops_of(chain, shape, training=False)


sys.path.append(sys.argv[1])
warnings.simplefilter("ignore")
tell({name: export(name) for name in MODELS})
