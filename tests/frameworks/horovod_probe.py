"""Run in an environment of Horovod and PyTorch, by each of two ranks: training in float16, as JSON for test_horovod.py.

PYTHONPATH=node.pyz python horovod_probe.py
"""

import copy
import json
import os
import sys

import torch
from hpcbench_node import problem
from hpcbench_node.frameworks import pytorch_strategies
from hpcbench_node.group import Group
from hpcbench_node.ranks import from_environment

PARAMETERS = {
    "model": "mlp",
    "model_options": {"input_size": 300, "classes": 3},
    "task": "training",
    "strategy": "horovod",
    "device": "cpu",
    "dtype": "float16",
    "batch_size": 4,
    "seed": 3,
    "learning_rate": 0.1,
    "data": None,
}


def main():
    group = Group(from_environment(os.environ))
    asked = problem.of_case(PARAMETERS, group)
    torch.manual_seed(0)
    model = torch.nn.Linear(300, 200)
    before = copy.deepcopy(model.state_dict())
    device = torch.device("cpu")
    model = pytorch_strategies.parallel(model, asked, device)
    update = pytorch_strategies.update_of(model, asked, device)
    batches = torch.rand(group.size, 4, 300)

    def loss_of(rank):
        return model(batches[rank]).square().mean()

    update(loss_of(group.rank) * (float("inf") if group.rank == 1 else 1.0))
    untouched = all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    mean = sum(loss_of(rank) for rank in range(group.size)) / group.size
    gradients = torch.autograd.grad(mean, list(model.parameters()))
    expected = [weight - 0.1 * gradient for weight, gradient in zip(model.parameters(), gradients, strict=True)]
    update(loss_of(group.rank))
    close = map(torch.allclose, model.parameters(), expected)
    sys.stdout.write(json.dumps({"untouched": untouched, "is_mean": all(close)}))
    group.gather(None)


if __name__ == "__main__":
    main()
