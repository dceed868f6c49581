"""A program that keeps a GPU busy with matrix products until it is terminated. It prints `ready` when it begins."""

import sys
import time

import torch

SIZE = {"cuda": 4096, "cpu": 256}


def main(device):
    """Multiply matrices on the device without end."""
    if device == "cpu":
        torch.set_num_threads(1)
    left = torch.rand(SIZE[device], SIZE[device], device=device)
    left @ left
    if device == "cuda":
        torch.cuda.synchronize()
    print("ready", flush=True)
    while True:
        for _ in range(20):
            left @ left
        if device == "cuda":
            torch.cuda.synchronize()
        else:
            time.sleep(0.1)  # a rehearsal: leave the CPUs to the run


if __name__ == "__main__":
    main(sys.argv[1])
