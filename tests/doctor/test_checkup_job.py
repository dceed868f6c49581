from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.site import Partition
from hpcbench.core.check_result import PROBLEM
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.doctor.checkup_job import Checkup, CheckupOptions, resources_for
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, (2, 1, 0)),
        ({"cpus_per_node": 64}, (2, 2, 0)),
        ({"cpus_per_node": 3}, (2, 1, 0)),
        ({"cpus_per_node": 1}, (1, 1, 0)),
        ({"cpus_per_node": 64, "gpus_per_node": 4}, (2, 2, 1)),
        ({"cpus_per_node": 64, "gpus_per_node": 1}, (1, 2, 1)),
        ({"cpus_per_node": 64, "gpus_per_node": 0}, (2, 2, 0)),
    ],
)
def test_the_job_asks_for_little_and_for_no_more_than_a_node_has(
    site, limits: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    asked = resources_for(site(), "cpu", Partition(**limits))
    assert (asked.tasks, asked.cpus_per_task, asked.gpus_per_task) == expected


@pytest.mark.parametrize(("most", "minutes"), [(None, "10"), ("1-00:00:00", "10"), ("00:05:00", "5"), ("30", "10")])
def test_the_job_is_short_and_within_the_limit_of_its_partition(site, most: str | None, minutes: str) -> None:
    assert resources_for(site(), "cpu", Partition(max_time=most)).slurm.time == minutes


USUAL = CheckupOptions(10)


def test_a_whole_node_is_asked_for_where_all_of_its_cpus_are_to_be_measured(site) -> None:
    asked, whole = (resources_for(site(), "cpu", Partition(cpus_per_node=64), each) for each in (False, True))
    assert (asked.slurm.exclusive, whole.slurm.exclusive) == (False, True)
    assert (whole.tasks, whole.cpus_per_task) == (asked.tasks, asked.cpus_per_task)


def checkup(site: Any, folder: Path, wanted: CheckupOptions = USUAL, **sections: Any) -> Checkup:
    asked = resources_for(site(**sections), "gpu", Partition(cpus_per_node=8, gpus_per_node=2))
    return Checkup("gpu", folder, 0, asked, wanted)


def test_the_script_asks_as_the_site_says_and_is_plain_bash(site, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    sections = {
        "slurm": {
            "account": "proj1",
            "qos": "normal",
            "exclusive": True,
            "gpu_type": "v100",
            "options": {"wckey": "x"},
        },
        "launcher": {"srun": ["--cpu-bind=cores", "--comment=a b"]},
    }
    job = checkup(site, folder, **sections)
    job.write(Workspace(tmp_path), site(**sections))
    text = job.script.read_text()
    for option in ("partition=gpu", "account=proj1", "qos=normal", "exclusive", "gres=gpu:v100:2", "wckey=x"):
        assert f"#SBATCH --{option}\n" in text
    assert "--ntasks=2" in text
    assert "--cpu-bind=cores '--comment=a b'" in text
    assert subprocess.run(["bash", "-n", job.script], check=False).returncode == 0
    shown = subprocess.run(
        ["bash", "-c", f'{next(line for line in text.splitlines() if line.startswith("folder="))}; echo "$folder"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"{folder}\n"


@pytest.mark.parametrize("folder", ["a\nb", "a b", "it's", "$(here)", "a#b", "a\\b", "my-hetjob"])
def test_a_folder_that_an_sbatch_line_cannot_carry_is_refused(folder: str, site, tmp_path: Path) -> None:
    job = checkup(site, tmp_path / folder)
    with pytest.raises(UserError, match=r"(?i)sbatch"):
        job.write(Workspace(tmp_path), site())


FINDING = {
    "group": "interference",
    "subject": "CPU quota",
    "level": "ok",
    "found": "none",
    "means": "",
    "action": "",
    "numbers": None,
}
NODE = {"hostname": "vm", "cpu_model": "a CPU", "cpu_count": 8, "memory_bytes": 16e9, "kernel": "6.1"}


def told(rank: int) -> dict[str, Any]:
    return {"rank": rank, "host": "n7", "cpus": [rank], "cores": [str(rank)], "visible_gpus": None, "gpus": []}


def write_lines(file: Path, *lines: Any) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_what_a_job_found_is_read(site, tmp_path: Path) -> None:
    job = Checkup("cpu", tmp_path, 3, resources_for(site(), "cpu", Partition()), CheckupOptions(10))
    write_lines(tmp_path / "job-3.tasks", told(1), told(0))
    write_lines(tmp_path / "job-3.found", NODE, FINDING)
    with (tmp_path / "job-3.found").open("a") as file:
        file.write("a greeting of the site\n[1]\n")
    host = job.read()
    assert host.facts == "n7: a CPU, 8 CPUs, 16 GB, Linux 6.1"
    assert [finding.found for finding in host.groups["interference"]] == ["none"]
    assert host.groups["binding"][0].found.endswith("given: 0 and 1, not shared")
    assert "node" not in host.groups


def test_a_job_that_found_nothing_is_a_problem_with_what_it_printed(site, tmp_path: Path) -> None:
    job = Checkup("cpu", tmp_path, 0, resources_for(site(), "cpu", Partition()), CheckupOptions(10))
    job.script.with_suffix(".log").write_text("one\n\nsrun: error: no such thing\n")
    (finding,) = job.read().groups["node"]
    assert finding.level == PROBLEM
    assert finding.found == "the job ended without a result: one / srun: error: no such thing"
    job.script.with_suffix(".log").unlink()
    assert "it printed nothing" in job.read().groups["node"][0].found


MEASURED = MachinePeaks("a CPU", 8, None, (Peak("cpu", 4, "float32", 1e11, 1e10, "numpy", "n7", "now"),))
PEAKS = {"machine": MEASURED.as_data(), "findings": [{**FINDING, "subject": "CPU peaks"}]}
del PEAKS["findings"][0]["group"]


def test_peaks_are_measured_in_the_job_by_these_pythons_too(site, tmp_path: Path) -> None:
    for wanted, expected in (
        (CheckupOptions(10), ""),
        (CheckupOptions(10, peaks_by=()), '"${node[@]}" peaks --turns "$folder" > "$folder/job-0.peaks"'),
        (
            CheckupOptions(10, peaks_by=("/a b/python",)),
            '"${node[@]}" peaks --turns "$folder" --python \'/a b/python\' > "$folder/job-0.peaks"',
        ),
    ):
        job = checkup(site, tmp_path, wanted)
        job.write(Workspace(tmp_path), site())
        assert [line for line in job.script.read_text().splitlines() if " peaks " in line] == [expected][
            : bool(expected)
        ]
        assert subprocess.run(["bash", "-n", job.script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("lines", "peaks", "words"),
    [
        ([PEAKS], MEASURED, ("CPU peaks", "none")),
        ([], None, ("peaks", "not measured (no result from the job)")),
        ([{**PEAKS, "machine": {"cpu_model": 1}}], None, ("peaks", "not measured (no result from the job)")),
    ],
)
def test_what_a_job_measured_is_read(
    site, tmp_path: Path, lines: list[Any], peaks: MachinePeaks | None, words: tuple[str, str]
) -> None:
    job = checkup(site, tmp_path, CheckupOptions(10, peaks_by=()))
    write_lines(tmp_path / "job-0.found", NODE, FINDING)
    write_lines(tmp_path / "job-0.peaks", *lines)
    host = job.read()
    assert host.peaks == peaks
    assert [(finding.subject, finding.found) for finding in host.groups["CPUs and memory"]] == [words]
