"""A training script as users have them: data-parallel by torchrun, one line of JSON on standard output now and then.

torchrun --standalone --nproc-per-node 2 configs/programs/train.py --batch-size 64 --steps 200
"""

import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

REPORT_EVERY = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()

    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1)).to(device)
    model = DistributedDataParallel(network, device_ids=[device.index] if on_gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(1 + dist.get_rank())
    items = torch.randn(arguments.batch_size, 256, device=device)
    targets = items.sum(dim=1, keepdim=True) / 16

    start = time.perf_counter()
    for step in range(1, arguments.steps + 1):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(items), targets)
        loss.backward()
        optimizer.step()
        if step % REPORT_EVERY == 0:
            value = loss.item()  # waits for the device
            elapsed_s = time.perf_counter() - start
            rate = REPORT_EVERY * arguments.batch_size * dist.get_world_size() / elapsed_s
            if dist.get_rank() == 0:
                print(json.dumps({"step": step, "loss": value, "samples_per_s": rate}), flush=True)
            start = time.perf_counter()
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # taken down with the interpreter, gloo's threads abort one run in ten, after all the work is done


if __name__ == "__main__":
    main()
