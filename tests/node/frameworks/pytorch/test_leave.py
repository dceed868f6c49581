"""What is left of a process group after a run."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: leaving a process group")

from hpcbench.node.frameworks.pytorch import strategies  # noqa: E402 - it needs torch


def test_a_process_group_is_destroyed_but_its_object_is_kept() -> None:
    """Its destructor can wait forever: in six of six trials with up to 300 groups of two ranks in one process."""
    distributed = torch.distributed
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    group = distributed.group.WORLD
    strategies.leave()
    assert not distributed.is_initialized()
    assert strategies._left[-1] is group
    strategies.leave()
    assert strategies._left.count(group) == 1
