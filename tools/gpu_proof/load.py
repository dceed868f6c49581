"""A program: keep a device busy with matrix products until it is terminated. It prints `ready` when it begins."""

import sys

import torch

SIZE = {"cuda": 4096, "cpu": 256}


def main(device):
    """Multiply matrices on the device without end."""
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


if __name__ == "__main__":
    main(sys.argv[1])
