"""The message that explains a failure, in outputs as srun, mpirun and container runtimes print them."""

from __future__ import annotations

import pytest

from hpcbench.node import complaint

STEP = "srun: error: Unable to create step for job 12: "
ABORTED = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
EXITED = "srun: error: n1: task 0: Exited with exit code 1\n"
RULER = 74 * "-"


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (
            f"{STEP}More processors requested than permitted\n",
            "Unable to create step for job 12: More processors requested than permitted",
        ),
        (
            f"hpcbench: srun --mem=999G python\n{STEP}Memory required by task is not available\n",
            "Unable to create step for job 12: Memory required by task is not available",
        ),
        (
            f"{STEP}Requested node configuration is not available\n{ABORTED}",
            "Unable to create step for job 12: Requested node configuration is not available",
        ),
        (
            (
                "srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x01.\n"
                "srun: error: Task launch for StepId=7.0 failed on node n1: Unable to satisfy cpu bind request\n"
                f"srun: error: Application launch failed: Unable to satisfy cpu bind request\n{ABORTED}"
                "srun: error: Timed out waiting for job step to complete\n"
            ),
            "Application launch failed: Unable to satisfy cpu bind request",
        ),
        (
            (
                f"slurmstepd: error: execve(): /no/python: No such file or directory\n"
                f"srun: error: n[1-2]: tasks 0-3: Exited with exit code 2\n{ABORTED}"
                "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-01T00:00:00 ***\n"
                "srun: Force Terminated StepId=7.0\n"
            ),
            "execve(): /no/python: No such file or directory",
        ),
        (
            (
                "slurmstepd-n1: error: pyxis: container start failed with error code: 1\n"
                "slurmstepd-n1: error: pyxis: printing enroot log file:\n"
                "slurmstepd-n1: error: pyxis:     [ERROR] No such file or directory: /images/a.sqsh\n"
                "slurmstepd-n1: error: pyxis: couldn't start container\n"
                "slurmstepd-n1: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1\n"
                f"slurmstepd-n1: error: Failed to invoke spank plugin stack\n{EXITED}"
            ),
            "pyxis:     [ERROR] No such file or directory: /images/a.sqsh",
        ),
        (
            "srun: unrecognized option '--cpu-bnd'\nTry \"srun --help\" for more information\n",
            "unrecognized option '--cpu-bnd'",
        ),
        ("srun: fatal: No command given to execute.\n", "No command given to execute."),
        (f"{EXITED}{ABORTED}srun: Terminating StepId=7.0\nsrun: Force Terminated StepId=7.0\n", ""),
        ("slurmstepd: error: couldn't chdir to `/x': No such file or directory: going to /tmp instead\n", ""),
        ("srun: error: n1: task 0: Segmentation fault (core dumped)\nsrun: lua: using account a\n", ""),
        ("my program says srun: error: nothing\n", ""),
    ],
)
def test_the_reason_is_an_error_of_slurm_and_not_its_consequence(log: str, reason: str) -> None:
    assert complaint.of_slurm(log.splitlines()) == reason


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("ch-run[7]: error: can't stat: /no/such\n" + EXITED, "ch-run[7]: error: can't stat: /no/such"),
        (
            "FATAL:   could not open image /x.sif: no such file or directory\n" + EXITED + ABORTED,
            "FATAL:   could not open image /x.sif: no such file or directory",
        ),
        (
            (
                f"{RULER}\nThere are not enough slots available in the system to satisfy the 4\n"
                "slots that were requested by the application:\n\n  ./a.out\n\nEither request fewer slots for your "
                f"application, or make more slots\navailable for use.\n{RULER}\n"
            ),
            (
                "There are not enough slots available in the system to satisfy the 4 slots that were requested by the "
                "application:"
            ),
        ),
        (
            (
                f"bench: no such data set\n{RULER}\nprterun detected that one or more processes exited with non-zero "
                "status, thus causing\nthe job to be terminated. The first process to do so was:\n\n"
                "   Process name: [prterun-1@1,0]\n"
                f"   Exit code:    1\n{RULER}\n"
            ),
            "bench: no such data set",
        ),
        (
            (
                "bench: bad grid\n\n=====\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                "=   PID 7 RUNNING AT n1\n=   EXIT CODE: 1\n=   CLEANING UP REMAINING PROCESSES\n"
                "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n=====\n"
            ),
            "bench: bad grid",
        ),
        ("Traceback (most recent call last):\nValueError: wrong\n\n", "ValueError: wrong"),
        ("hpcbench: srun python\n", ""),
        ("\n----\n", ""),
    ],
)
def test_the_last_words_are_of_the_program_or_its_launcher(output: str, words: str) -> None:
    assert complaint.last_words(output.splitlines()) == words


def test_the_report_of_torchrun_does_not_hide_the_error_of_a_process() -> None:
    api = "1128 17:22:26.043000 31075 torch/distributed/elastic/multiprocessing/api.py"
    lines = [
        "RuntimeError: rank one failed",
        f"W{api}:1028] Sending process 31080 closing signal SIGTERM",
        f"E{api}:1002] failed (exitcode: 1) local_rank: 1 (pid: 31081) of binary: bash",
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
        "=" * 60,
    ]
    assert complaint.last_words(lines) == "RuntimeError: rank one failed"
    assert complaint.last_words(lines[1:4]).startswith("traceback : "), "nothing else is known"
