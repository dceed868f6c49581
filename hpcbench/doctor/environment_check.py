"""Check environments: run one step of a small network in each, with the script of a sweep."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hpcbench.config.site import Site
from hpcbench.core import status
from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.core.record import Record
from hpcbench.doctor.trial import trial
from hpcbench.environments.framework_names import framework_and_strategy
from hpcbench.environments.resolve import resolve
from hpcbench.errors import Finding
from hpcbench.models.source import ONNX_FRAMEWORKS, onnx_model
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err, out, print_error, print_warning
from hpcbench.util.package_data import shipped

TINY = {"model": "mlp", "model_options": {"input_size": 8, "hidden_size": 8, "layers": 1}}
LAST_LINES = 8  # of the output of a framework
TIME = "00:10:00"  # a first import from a cold parallel file system takes minutes


@dataclass(frozen=True)
class CheckedEnvironment:
    """The outcome of the check of one environment, with the record of its step."""

    name: str
    framework: str
    record: Record
    seconds: float  # of the whole check

    @property
    def works(self) -> bool:
        """Return whether the step completed."""
        return self.record.status == status.COMPLETED


def check_all(
    workspace: Workspace, site: Site, names: tuple[str, ...], framework: str | None
) -> Iterator[CheckedEnvironment]:
    """Return an iterator that checks these environments of a site on this machine.

    Raise UserError for an unknown environment or framework, before the first check.
    """
    local = site.model_copy(update={"scheduler": "local"})
    warnings = [resolve(local, name, workspace).warning for name in names]
    frameworks = [framework_and_strategy(name, framework) for name in names]
    for warning in filter(None, warnings):
        print_warning(warning)
    return (_check(workspace, local, name, *of) for name, of in zip(names, frameworks, strict=True))


def _check(workspace: Workspace, site: Site, name: str, framework: str, strategy: str) -> CheckedEnvironment:
    start = time.monotonic()
    doing = "training" if FRAMEWORKS[framework].trains else "running"
    what = f"{name}: {doing} one step with {FRAMEWORKS[framework].description}"
    with err.status(what) if err.is_terminal else contextlib.nullcontext():
        if not err.is_terminal:
            err.print(what, markup=False)
        record, _ = trial(workspace, site, _experiment(name, framework, strategy))
    return CheckedEnvironment(name, framework, record, time.monotonic() - start)


def print_check(checked: CheckedEnvironment) -> None:
    """Print that an environment works, or on stderr why it does not, with the last lines of its output."""
    if checked.works:
        summary = f"works: {_summary(checked.record, checked.framework)}; total {checked.seconds:.1f} s"
        out.print(f"{checked.name}: {summary}", markup=False, soft_wrap=True)
    else:
        _print_failure(checked.name, checked.record)


def checked_as_data(found: Iterable[CheckedEnvironment]) -> list[dict[str, Any]]:
    """Return the outcomes for JSON; null is unknown."""
    return [
        {
            "environment": each.name,
            "framework": each.framework,
            "works": each.works,
            "status": each.record.status,
            "error": each.record.error_message,
            "last_lines": list(each.record.error.last_lines if each.record.error else ()),
            "framework_version": each.record.framework_version,
            "python": each.record.python,
            "tasks": len(each.record.ranks),
            "seconds": each.seconds,
        }
        for each in found
    ]


def _summary(record: Record, framework: str) -> str:
    threads, times = record.threads, record.measurements.times_s if record.measurements else ()
    parts = [
        f"{FRAMEWORKS[framework].description} {record.framework_version}",
        f"Python {record.python}",
        *([f"{len(record.ranks)} tasks"] if len(record.ranks) > 1 else []),
        f"threads {(threads and threads.intra_op) or '?'} intra-op, {(threads and threads.inter_op) or '?'} inter-op",
        f"step time {min(time_s for time_s in times if time_s is not None) * 1000:.3g} ms",
    ]
    return ", ".join(parts)


def _print_failure(name: str, record: Record) -> None:
    print_error(Finding(f"{name} does not work: {record.status}: {record.error_message}"))
    for line in (record.error.last_lines if record.error else ())[-LAST_LINES:]:
        err.print(f"  | {line}", markup=False, soft_wrap=True)


def _experiment(name: str, framework: str, strategy: str) -> dict[str, Any]:
    tasks = min(2, len(os.sched_getaffinity(0))) if strategy != "single" else 1
    return {
        "name": "check",
        "parameters": {
            "framework": framework,
            **(_tiny_file() if framework in ONNX_FRAMEWORKS else TINY),
            "strategy": strategy,
            "batch_size": 2,
            "tasks_per_node": tasks,
            "environment": name,
        },
        "measure": {"max_warmup_s": 0.0, "min_time_s": 0.001, "max_time_s": 0.001, "repetitions": 1, "retries": 0},
        "slurm": {"time": TIME},
    }


def _tiny_file() -> dict[str, Any]:
    return {"model": onnx_model(str(shipped("configs") / "data" / "tiny.onnx"))}
