"""Run in an environment of Horovod and PyTorch, by each of two ranks: training in float16, as JSON for test_horovod.py.

A question to answering.py: horovod_probe
"""

import copy

import torch
from hpcbench_carried.node.frameworks.pytorch import strategies
from hpcbench_carried.node.frameworks.pytorch.update import update_of
from probing import case, own_group


def main():
    group = own_group()
    asked = case(group=group, strategy="horovod", dtype="float16", batch_size=4)
    torch.manual_seed(0)
    model = torch.nn.Linear(300, 200)
    before = copy.deepcopy(model.state_dict())
    device = torch.device("cpu")
    model = strategies.parallel(model, asked, device)
    update = update_of(model, asked, device)

    def step(loss):
        update.begin()
        with update.batch(is_last=True):
            update.backward(loss)
        update.exchange()
        update.step()

    batches = torch.rand(group.size, 4, 300)

    def loss_of(rank):
        return model(batches[rank]).square().mean()

    step(loss_of(group.rank) * (float("inf") if group.rank == 1 else 1.0))
    untouched = all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    mean = sum(loss_of(rank) for rank in range(group.size)) / group.size
    gradients = torch.autograd.grad(mean, list(model.parameters()))
    expected = [weight - 0.1 * gradient for weight, gradient in zip(model.parameters(), gradients, strict=True)]
    step(loss_of(group.rank))
    close = map(torch.allclose, model.parameters(), expected)
    found = {"untouched": untouched, "is_mean": all(close)}
    group.gather(None)
    strategies.leave()
    return found
