"""A user's own program that follows a schedule of threads by section: how long a step takes without it, and with it.

python configs/programs/scheduled.py schedule.json --hidden 128

The model must be the one that the schedule was made for. `--make` writes a schedule first, of which every section has
one thread, to be edited.
"""

import argparse
import json
import time

import torch
from torch import nn

from hpcbench.node.schedule import FORWARD, Schedule, Section, apply_schedule, fingerprint, write

STEPS = 50


class Tagger(nn.Module):
    """A narrow recurrent part and a wide output layer: they want different numbers of threads."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(64, hidden, batch_first=True)
        self.words = nn.Linear(hidden, 20_000)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.words(self.recurrent(batch)[0])


def step_s(model: nn.Module, batch: torch.Tensor) -> float:
    """Seconds of a step, after one that does not count."""
    with torch.inference_mode():
        model(batch)
        start = time.perf_counter()
        for _ in range(STEPS):
            model(batch)
        return (time.perf_counter() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schedule")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--make", action="store_true")
    arguments = parser.parse_args()
    model, batch = Tagger(arguments.hidden).eval(), torch.ones(4, 20, 64)
    if arguments.make:
        sections = tuple(Section(name, FORWARD, 1) for name, _ in model.named_children())
        write(Schedule(fingerprint(model), sections, {"batch_shape": list(batch.shape)}), arguments.schedule)
    plain_s = step_s(model, batch)
    with apply_schedule(model, arguments.schedule):
        scheduled_s = step_s(model, batch)
    print(json.dumps({"plain_s": plain_s, "scheduled_s": scheduled_s, "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main()
