"""torch._dynamo is imported when something needs it, in the order of its package. Each test needs a new process."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.integration]
pytest.importorskip("torch", reason="PyTorch is not installed; not run: putting off torch._dynamo")

PUT_OFF = """
import sys
import torch
from hpcbench.node.frameworks.pytorch.unrun.without_dynamo import put_off
assert "torch._dynamo" not in sys.modules, "the test is void: PyTorch imports torch._dynamo itself"
put_off()
network, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.ones(2, 4)
"""
IS_REAL = """
assert sys.modules["torch._dynamo"] is torch._dynamo and torch._dynamo.__file__
assert torch._dynamo.exc is sys.modules["torch._dynamo.exc"]
assert torch._dynamo.source is sys.modules["torch._dynamo.source"] and torch._dynamo.source.__file__
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", PUT_OFF + program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "assert torch.export.export(network, (x,)).module()(x).shape == (2, 3)",
        "assert torch.compile(network, backend='eager')(x).shape == (2, 3)",
        "import torch._dynamo.exc",
        "from torch._dynamo import config, utils; assert config is torch._dynamo.config",
        "from torch._dynamo.source import AttrSource; assert AttrSource",
    ],
    ids=["export", "compile", "module", "from", "source"],
)
def test_the_real_package_is_imported_when_something_needs_it(program: str) -> None:
    run(program + IS_REAL)


def test_a_training_step_with_fake_tensors_does_not_import_it() -> None:
    run(
        "from torch._subclasses.fake_tensor import FakeTensorMode\n"
        "with FakeTensorMode():\n"
        "    network = torch.nn.Linear(4, 3)\n"
        "    network(torch.ones(2, 4)).sum().backward()\n"
        "    torch.optim.Adam(network.parameters()).step()\n"
        "assert 'torch._dynamo.exc' not in sys.modules\n"
    )
