"""The times of `task: operator` over hand-written loops of the same framework: a part of `make bench-operators`.

It runs in the environments of `make environments`, with PyTorch, JAX and TensorFlow, and prints a row per operator.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ratios import Limits, row

from hpcbench.submit.zipapp import node_zipapp

FRAMEWORKS = ("pytorch", "jax", "tensorflow")
ENVIRONMENTS = Path(os.environ.get("HPCBENCH_ENVS") or Path.home() / ".cache" / "hpcbench" / "environments")
EQUAL = Limits(0.98, 1.02)


def compared() -> Iterator[bool]:
    """Print a row for each framework and operator; yield whether it is within the limits."""
    with tempfile.TemporaryDirectory() as folder:
        carried = Path(folder) / "node.pyz"
        carried.write_bytes(node_zipapp())
        for framework in FRAMEWORKS:
            python = ENVIRONMENTS / framework / "bin" / "python"
            if not python.exists():
                raise SystemExit(f"{python} does not exist: make environments")
            command = [python, Path(__file__).with_name("hand_written_loops.py"), framework]
            variables = {**os.environ, "PYTHONPATH": str(carried), "TF_CPP_MIN_LOG_LEVEL": "2"}
            ended = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
            for name, ratios in json.loads(ended.stdout.splitlines()[-1]).items():
                yield row(f"{framework}: {name}", ratios, EQUAL)


if __name__ == "__main__":
    raise SystemExit(0 if all([*compared()]) else 1)
