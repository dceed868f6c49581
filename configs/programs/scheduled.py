"""Your own program with per-layer thread counts: find a schedule once, then apply it.

python configs/programs/scheduled.py schedule.json --find
python configs/programs/scheduled.py schedule.json

The first command searches a schedule on this machine, or prints the count if one thread count is as good. The second
prints the time of a step without and with the schedule. Both must have the same model.
"""

import argparse
import json
import sys
import time

import torch
from torch import nn

from hpcbench.node import apply_schedule, find_schedule
from hpcbench.node.thread_schedule import write

STEPS = 50


class Tagger(nn.Module):
    """A narrow recurrent layer and a wide output layer, which are fastest with different thread counts."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(64, hidden, batch_first=True)
        self.words = nn.Linear(hidden, 20_000)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.words(self.recurrent(batch)[0])


def find(model: nn.Module, batch: torch.Tensor, file: str, budget_s: float) -> None:
    """Write the schedule to the file, or print why none was found."""
    another_batch = -batch  # sections must run in the same order whatever the input is
    with torch.inference_mode():
        answer = find_schedule(model, lambda: model(batch), lambda: model(another_batch), budget_s=budget_s)
    if answer.schedule is None:
        print(f"threads for all sections: {answer.fixed_threads}; {answer.why}")
        return
    write(answer.schedule, file)
    print(f"{file}: {answer.gain.middle:.2f} times as fast as {answer.fixed_threads} threads for all sections")


def step_s(model: nn.Module, batch: torch.Tensor) -> float:
    """Return the time of a step in seconds, after a warm-up step."""
    with torch.inference_mode():
        model(batch)
        start = time.perf_counter()
        for _ in range(STEPS):
            model(batch)
        return (time.perf_counter() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schedule")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--find", action="store_true")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of steps for the search")
    arguments = parser.parse_args()
    model, batch = Tagger(arguments.hidden).eval(), torch.ones(4, 20, 64)
    if arguments.find:
        find(model, batch, arguments.schedule, arguments.budget)
        return
    plain_s = step_s(model, batch)
    try:
        with apply_schedule(model, arguments.schedule):
            scheduled_s = step_s(model, batch)
    except OSError as error:
        sys.exit(f"{error}; --find makes one")
    except ValueError as error:
        sys.exit(str(error))
    print(json.dumps({"plain_s": plain_s, "scheduled_s": scheduled_s, "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main()
