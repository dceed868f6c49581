"""hpcbench doctor on this very machine; tests/cluster has it on a cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys

import pytest

from hpcbench.store.machine_peaks import read_peaks
from hpcbench.store.workspace import Workspace
from tests.commands.setup.quick_noise import measure_at_once

LAPTOP = {"HPCBENCH_SITE": "laptop"}
QUICK = ("doctor", "--seconds", "3", "--no-peaks")


@pytest.fixture(autouse=True)
def at_once(command_line) -> None:
    """Noise floors are not waited for, except by the first test."""
    command_line.before = measure_at_once


def test_this_machine_is_looked_at_and_nothing_is_left_behind(command_line):
    command_line.before = None
    done = command_line(*QUICK, env=LAPTOP, expect=None)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("hpcbench 0.")
    assert "site laptop: one machine, no scheduler" in lines
    for group in (" environments", " CPUs and memory", " power and GPUs", " interference"):
        assert group in lines
    assert any("noise floor: two runs of 3 s must differ by" in line for line in lines)
    assert lines[-1].endswith(" ok")
    assert "noise floor\n" in done.stderr, "what takes time is told"
    assert list(command_line.workspace.iterdir()) == []


def test_programs_get_json_with_numbers(command_line):
    told = json.loads(command_line(*QUICK, "--json", env=LAPTOP, expect=None).stdout)
    assert told["site"] == "laptop"
    site, machine = told["places"]
    assert (site["place"], machine["place"]) == ("site", "this machine")
    assert "CPUs" in machine["machine"]
    numbers = {name: value for each in machine["findings"] for name, value in (each["numbers"] or {}).items()}
    assert numbers["timer_cost_ns"] > 0
    assert numbers["noise_smallest_difference"] >= 0


def test_what_this_machine_can_do_at_most_is_measured_and_kept(command_line):
    told = json.loads(command_line("doctor", "--seconds", "3", "--json", env=LAPTOP, expect=None).stdout)
    found = {finding["subject"]: finding for finding in told["places"][1]["findings"]}
    assert found["CPU peaks"]["group"] == "CPUs and memory"
    assert found["CPU peaks"]["numbers"]["cpu_1_float32_flops_per_s"] > 1e8
    (file,) = command_line.workspace.rglob("*.json")
    assert found["peaks"]["found"] == f"saved in results/.machines/{file.name}"
    (machine,) = read_peaks(Workspace(command_line.workspace), pytest.fail)
    numbers = {f"cpu_{peak.cpus}_float32_flops_per_s": peak.flops_per_s for peak in machine.measurements}
    assert numbers.items() <= found["CPU peaks"]["numbers"].items()


def test_peaks_that_cannot_be_kept_are_told(command_line):
    (command_line.workspace / "results").write_text("a file")
    said = command_line("doctor", "--seconds", "3", env=LAPTOP, expect=None).stdout
    assert "note    peaks: not saved: " in said
    assert "CPU peaks: 1 CPU " in said


def test_a_login_node_is_not_made_to_work(command_line):
    site = command_line.site(scheduler="slurm")
    said = command_line("doctor", "--seconds", "3", "--site", site, expect=None).stdout
    assert "noise floor" in said
    assert "peaks" not in said


def test_a_folder_that_cannot_be_written_to_leaves_the_rest(command_line):
    (command_line.workspace / "jobs").write_text("a file")
    site = command_line.site(environments={"mine": {"python": sys.executable}})
    said = command_line(*QUICK, "--site", site).stdout
    assert "note    environments: not checked: " in said
    assert "noise floor" in said


def test_a_site_of_slurm_without_slurm_is_a_problem(command_line, tmp_path):
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "rm", "hostname"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    site = command_line.site(scheduler="slurm")
    done = command_line(*QUICK, "--site", site, env={"PATH": str(tmp_path / "bin")}, expect=1)
    assert "problem Slurm: the site uses Slurm, but its commands were not found" in done.stdout


def test_a_silent_slurm_is_no_problem_of_a_local_site_that_was_named_with_a_fake_scontrol(command_line, fake_commands):
    for tool in ("bash", "rm", "hostname"):
        (fake_commands(scontrol="exit 1") / tool).symlink_to(str(shutil.which(tool)))
    silent = {"SLURM_CONF": "/nowhere", "PATH": os.environ["PATH"]}
    for arguments, env in (((), {"HPCBENCH_SITE": "laptop"}), (("--site", "laptop"), {})):
        told = json.loads(command_line(*QUICK, "--json", *arguments, env={**silent, **env}, expect=None).stdout)
        assert "Slurm" not in {finding["group"] for finding in told["places"][0]["findings"]}


@pytest.mark.system
def test_a_slurm_that_gives_no_answer_is_a_problem_and_this_machine_is_looked_at(command_line, debian, tmp_path):
    debian("slurm-client")
    (tmp_path / "slurm.conf").write_text("ClusterName=gone\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=9\n")
    silent = {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    said = command_line(*QUICK, env=silent, expect=1).stdout
    assert "problem Slurm: configured on this host, but not responding" in said
    assert "noise floor" in said
    refused = command_line("doctor", "--on-node", env=silent, expect=2).stderr
    assert "--on-node requires Slurm, which is configured on this host, but not responding" in refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--partition", "cpu"], "--partition requires --on-node or --each-node"),
        (["--whole-node"], "--whole-node requires --on-node or --each-node"),
        (["--on-node"], "--on-node requires Slurm, which is not available at the site 'laptop'"),
        (["--each-node"], "--each-node requires Slurm, which is not available at the site 'laptop'"),
        (["--site", "nowhere"], "site 'nowhere' not found"),
        (["--seconds", "1"], "1 is not in the range"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_looked_at(command_line, arguments, words):
    done = command_line("doctor", *arguments, env=LAPTOP, expect=2)
    assert words in done.stderr
    assert done.stdout == ""


def test_an_interrupted_look_leaves_nothing_behind(command_line):
    process = command_line.start("doctor", "--seconds", "60", env=LAPTOP)
    for line in process.stderr:
        if line.startswith("noise floor"):
            break
    os.kill(process.pid, signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "interrupted" in said
    assert list(command_line.workspace.iterdir()) == []
