"""Whether a worker that imports PyTorch while another one measures changes what that one measures: three minutes.

One process measures steps on one core. On the other cores runs nothing, a process that imports PyTorch repeatedly, or
one that has imported PyTorch and waits. Nothing else should run. Each figure is the step time divided by that without a
second process in the same round: the median of the rounds, and their range.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from measuring import show

ROUNDS = 7
STEPS_S = 2.0
MEASURE = """
import sys, time, torch
torch.set_num_threads(1)
torch.manual_seed(0)
if sys.argv[1] == "lstm":
    net, batch = torch.nn.LSTM(256, 256, 2), torch.randn(32, 16, 256)
else:
    net, batch = torch.nn.Conv2d(64, 64, 3, padding=1), torch.randn(16, 64, 56, 56)
times = []
with torch.inference_mode():
    for _ in range(10):
        net(batch)
    end = time.perf_counter() + float(sys.argv[2])
    while time.perf_counter() < end:
        start = time.perf_counter()
        net(batch)
        times.append(time.perf_counter() - start)
print(sorted(times)[len(times) // 2])
"""
CONCURRENT = {
    "alone": None,
    "imports": "import subprocess, sys\nwhile True: subprocess.run([sys.executable, '-c', 'import torch'])",
    "waits": "import torch, sys\nprint('imported', flush=True)\nsys.stdin.read()",
}


@contextmanager
def running(code: str | None, cpus: str) -> Iterator[None]:
    """Run code on these CPUs in another process. Wait first for code that prints that it has imported PyTorch."""
    if code is None:
        yield
        return
    command = ["taskset", "-c", cpus, sys.executable, "-c", code]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        if "imported" in code:
            process.stdout.readline()
        yield
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def step_s(network: str, cpu: int) -> float:
    """Return the median time of a step of a network on one CPU."""
    command = ["taskset", "-c", str(cpu), sys.executable, "-c", MEASURE, network, str(STEPS_S)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()  # for --help
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        sys.exit("this takes two CPUs")
    cpus = ",".join(map(str, others))
    order = random.Random(0)
    for network in ("lstm", "conv2d"):
        ratios: dict[str, list[float]] = {name: [] for name in CONCURRENT if name != "alone"}
        for _ in range(ROUNDS):
            found = {}
            for name in order.sample(list(CONCURRENT), len(CONCURRENT)):
                with running(CONCURRENT[name], cpus):
                    found[name] = step_s(network, first)
            for name, each in ratios.items():
                each.append(found[name] / found["alone"])
        for name, each in ratios.items():
            what = f"step of {network} while a worker {name}, compared to alone"
            show(what, f"{statistics.median(each):.3f} x", f"{min(each):.3f} to {max(each):.3f}")


if __name__ == "__main__":
    main()
