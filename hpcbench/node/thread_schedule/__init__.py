"""A schedule (per-layer thread plan) of a PyTorch model: its file, and the hooks that follow it.

Without `search`, this folder needs only the standard library and torch, and may be copied into a program of your own.

    from hpcbench.node.thread_schedule import apply_schedule

    with apply_schedule(model, "schedule.json"):
        for batch in batches:
            model(batch)

A section begins when the forward of its module begins or, in training, when its backward begins, with the first
gradient of its output. It lasts until the next section begins. Counts are set by `torch.set_num_threads`, which
applies to OpenMP, oneDNN and MKL, and hold for the thread that runs the model. A section with branches computes them
concurrently, each with an equal share of the section's threads.
"""

from .apply import Applied, apply_schedule
from .compiled import refuse_compiled
from .file import SCHEMA, SETTER, Schedule, Section, fingerprint, parse, read, write
from .hooks import BACKWARD, FORWARD

__all__ = [
    "BACKWARD",
    "FORWARD",
    "SCHEMA",
    "SETTER",
    "Applied",
    "Schedule",
    "Section",
    "apply_schedule",
    "fingerprint",
    "parse",
    "read",
    "refuse_compiled",
    "write",
]
