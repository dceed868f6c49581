"""Warn of variables that jobs inherit from the submitting shell, and that change measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hpcbench.config.site import Environment
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.variables import performance
from hpcbench.core.variables.worker import for_worker


class Submission(NamedTuple):
    """The resolved parameters, environment and Slurm options of a run: which variables of the shell reach it."""

    parameters: Mapping[str, Any]
    environment: Environment
    slurm: SlurmOptions


def warning(submissions: Iterable[Submission], shell: Mapping[str, str]) -> str | None:
    """Return a warning about the variables of the shell that change the measurement of a run, or None.

    Variables that the experiment or the environment in the site file sets are left out, and those that the Slurm option
    `export` does not pass to the job.
    """
    variables = performance.of(performance.allowed_variables(shell))
    if not variables:
        return None
    found = {name for each in submissions for name in variables if _reaches(name, each)}
    if not found:
        return None
    inherited = {name: value for name, value in variables.items() if name in found}
    remedy = "unset them, or set them in `env` of the environment in the site file"
    return f"jobs inherit variables of this shell that change measurements: {performance.assigned(inherited)}; {remedy}"


def _reaches(name: str, run: Submission) -> bool:
    export = str(run.slurm.options.get("export", "ALL")).split(",")
    carried = "ALL" in export or name in export
    return carried and name not in run.environment.env and name not in for_worker(run.parameters, {})
