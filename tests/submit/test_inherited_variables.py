"""The variables of the shell that reach a job and change its measurement, although no file sets them."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.config.site import Environment
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.submit.inherited_variables import Submission, warning

SHELL = {"OMP_NUM_THREADS": "1", "HOME": "/home/me", "CUDA_HOME": "/usr/local/cuda", "NCCL_AUTH": "hunter2-hunter2"}


def submission(env: dict[str, str] | None = None, options: dict[str, Any] | None = None, **given: Any) -> Submission:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "mlp", **given}).planned()
    slurm = SlurmOptions.model_validate({"time": "00:10:00", "options": options or {}})
    return Submission(parameters, Environment(env=env or {}), slurm)


def test_a_thread_variable_of_the_shell_is_named_with_what_it_changes() -> None:
    found = warning([submission(), submission()], SHELL)
    assert found is not None
    assert found.startswith("jobs inherit variables of this shell that change measurements: OMP_NUM_THREADS=1 (thread")


@pytest.mark.parametrize(
    "run",
    [
        submission(intra_op_threads=2),
        submission(env={"OMP_NUM_THREADS": "4"}),
        submission(options={"export": "NONE"}),
        submission(options={"export": "HOME,PATH"}),
    ],
    ids=["parameter", "site", "not exported", "others exported"],
)
def test_a_variable_that_a_file_sets_or_that_does_not_reach_the_job_is_no_reason_to_warn(run: Submission) -> None:
    assert warning([run], SHELL) is None
    assert warning([run, submission()], SHELL) is not None, "it reaches another run"


def test_a_variable_that_is_exported_by_name_reaches_the_job() -> None:
    assert warning([submission(options={"export": "HOME,OMP_NUM_THREADS"})], SHELL) is not None
    assert warning([submission(options={"export": "ALL,A=b"})], SHELL) is not None


def test_a_shell_without_such_variables_is_no_reason_to_warn() -> None:
    assert warning([submission()], {"HOME": "/home/me", "CUDA_VISIBLE_DEVICES": "0"}) is None
