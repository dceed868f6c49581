"""Jobs that are refused, that wait, and that end, by fake Slurm commands; tests/cluster has a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.site import Partition
from hpcbench.core.check_result import PROBLEM, WARNING
from hpcbench.doctor import node_jobs, small_jobs
from hpcbench.doctor.checked_host import CheckedHost
from hpcbench.doctor.checkup_job import CheckupOptions
from hpcbench.store.workspace import Workspace

ONE = {"cpu": Partition()}


def shown(state: str, reason: str, nodes: str) -> str:
    """A squeue that lists a job."""
    return f"echo '71|0|{state}|0|N/A|N/A|{nodes}|{reason}|hpcbench-doctor|/a/script'"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_jobs, "POLL_S", 0.05)
    monkeypatch.setattr(node_jobs, "POLL_S", 0.05)
    monkeypatch.setattr(node_jobs, "SETTLE_S", 0.0)


def looked_at(
    tmp_path: Path, site: Any, partitions: dict[str, Partition] = ONE, timeout_s: float = 0.3
) -> list[CheckedHost]:
    said: list[str] = []
    folder = tmp_path / "shared"
    folder.mkdir()
    workspace = Workspace(tmp_path)
    return node_jobs.check_nodes(
        workspace, site(), partitions, folder, CheckupOptions(3), timeout_s, lambda what, how_far: said.append(what)
    )


def test_a_job_that_is_refused_is_a_problem_with_sbatchs_words_with_fake_slurm_commands(
    fake_commands, tmp_path: Path, site
) -> None:
    fake_commands(sbatch="echo 'sbatch: error: Invalid account' >&2; exit 1")
    (host,) = looked_at(tmp_path, site)
    (finding,) = host.results
    assert finding.level == PROBLEM
    assert "Invalid account" in finding.found
    assert finding.action.startswith("Correct `slurm:` and `partitions:` in the site file")


def test_a_refusal_names_the_variables_of_the_shell_first_with_fake_slurm_commands(
    fake_commands: Any, tmp_path: Path, site: Any
) -> None:
    fake_commands(sbatch="echo 'sbatch: error: Invalid account' >&2; exit 1")
    shell = {"account": "lba", "partition": "gpu", "qos": "fast"}
    (host,) = looked_at(tmp_path, lambda: site().with_shell_defaults(shell))
    action = host.results[0].action
    assert action.startswith(
        "In the shell: unset or correct SBATCH_ACCOUNT, SBATCH_QOS. If sbatch still refuses the job"
    )


def test_a_job_that_does_not_start_is_cancelled_and_told_with_fake_slurm_commands(
    fake_commands, tmp_path: Path, site
) -> None:
    commands = fake_commands(
        sbatch="echo 'Hello!'; echo '71;big'", squeue=shown("PENDING", "Resources", ""), scancel=""
    )
    (host,) = looked_at(tmp_path, site)
    (finding,) = host.results
    assert finding.level == WARNING
    assert finding.found.startswith("the job did not start in 0 s; cancelled: the nodes, CPUs, memory or GPUs it needs")
    assert (commands / "scancel.called").read_text() == "71\n"


def test_a_job_that_ended_is_not_cancelled_with_fake_slurm_commands(fake_commands, tmp_path: Path, site) -> None:
    """What it found is not there, and that is a problem."""
    commands = fake_commands(sbatch="echo 71", squeue=shown("FAILED", "None", "n1"), scancel="")
    (host,) = looked_at(tmp_path, site)
    assert [finding.level for finding in host.groups["node"]] == [PROBLEM]
    assert not (commands / "scancel.called").exists()


def test_a_job_that_slurm_has_forgotten_has_ended_with_fake_slurm_commands(fake_commands, tmp_path: Path, site) -> None:
    forgotten = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    fake_commands(sbatch="echo 71", squeue=forgotten, scontrol=forgotten, scancel="exit 1")
    (host,) = looked_at(tmp_path, site)
    assert "ended without a result" in host.groups["node"][0].found


def test_a_queue_that_gives_no_answer_is_asked_again_with_fake_slurm_commands(
    fake_commands, tmp_path: Path, site
) -> None:
    ended = shown("COMPLETED", "None", "n1")
    answers = f'[ -e asked ] && {{ {ended}; exit; }}; : > asked; echo "timed out" >&2; exit 1'
    commands = fake_commands(sbatch="echo 71", squeue=answers, scancel="exit 1")
    (host,) = looked_at(tmp_path, site, timeout_s=30)
    assert "ended without a result" in host.groups["node"][0].found
    assert (commands / "squeue.called").read_text().count("--jobs=71") == 2


def test_one_partition_that_refuses_leaves_the_others_with_fake_slurm_commands(
    fake_commands, tmp_path: Path, site
) -> None:
    refuses = 'case "$(cat "$2")" in *partition=gpu*) echo no >&2; exit 1;; esac; echo 71'
    fake_commands(sbatch=refuses, squeue=shown("PENDING", "Priority", ""), scancel="")
    gpu, cpu = looked_at(tmp_path, site, {"gpu": Partition(), "cpu": Partition()})
    assert [(host.name, host.results[0].level) for host in (gpu, cpu)] == [("gpu", PROBLEM), ("cpu", WARNING)]


def test_what_interrupts_the_waiting_cancels_the_jobs_with_fake_slurm_commands(
    fake_commands, tmp_path: Path, site
) -> None:
    commands = fake_commands(sbatch="echo 71", squeue=shown("RUNNING", "None", "n1"), scancel="")

    def interrupt(what: str, how_far: str) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "shared"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        node_jobs.check_nodes(Workspace(tmp_path), site(), ONE, folder, CheckupOptions(3), 30, interrupt)
    assert (commands / "scancel.called").read_text() == "71\n"
