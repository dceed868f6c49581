"""hpcbench's own tests that need a GPU."""

from __future__ import annotations

import os
import re

from .bench import REPOSITORY, Bench
from .frameworks import JAX_NEEDS
from .steps import Outcome, judged, not_run

NEEDS = ("pytest", "pytest_timeout", "hypothesis")
ADAPTER = "tests/node/frameworks/pytorch/test_on_gpu.py"
FRAMEWORKS = "tests/frameworks/test_on_gpus.py"
MOST_WORKERS = 4
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")


def adapter(bench: Bench, deadline_s: float) -> Outcome:
    """Run the tests of the PyTorch adapter on the GPU, several at once if pytest-xdist is installed."""
    workers = min(MOST_WORKERS, len(os.sched_getaffinity(0)) // 2)
    return _tests(bench, [ADAPTER, *(["-n", str(workers)] if "xdist" in bench.modules else [])], deadline_s)


def frameworks(bench: Bench, deadline_s: float) -> Outcome:
    """Run the tests of whole sweeps in PyTorch and, if installed, JAX."""
    names = ["pytorch", *(["jax"] if bench.modules.issuperset(JAX_NEEDS) else [])]
    return _tests(bench, [FRAMEWORKS, "-k", " or ".join(f"[{name}" for name in names)], deadline_s)


def _tests(bench: Bench, arguments: list[str], deadline_s: float) -> Outcome:
    missing = [name for name in NEEDS if name not in bench.modules]
    if missing:
        return not_run(f"not installed: {', '.join(missing)}")
    words = [bench.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={REPOSITORY}"]
    words += ["-c", str(REPOSITORY / "pyproject.toml")]
    site = str(bench.workspace / "site.yaml")
    paths = [str(REPOSITORY / each) if each.endswith(".py") else each for each in arguments]
    done = bench.run([*words, *paths], deadline_s, HPCBENCH_GPU_SITE=site, COLUMNS="400")
    return of_output(done.output, stopped=done.status is None)


def of_output(output: str, stopped: bool = False) -> Outcome:
    """Return the outcome of pytest: failed with each failure, not run if all tests were skipped."""
    lines = output.strip().splitlines() or ["pytest printed nothing"]
    counts = {kind: int(number) for number, kind in _COUNT.findall(lines[-1])}
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    skips = [line for line in lines if line.startswith("SKIPPED")]
    if failures or "passed" not in counts:
        if counts.keys() == {"skipped"}:
            return not_run(skips[0] if skips else lines[-1])
        return judged([lines[-1]], failures or [f"no result: {lines[-1]}"])
    outcome = judged([lines[-1], *skips], [])
    return outcome.cut_short("stopped at its time limit") if stopped else outcome
