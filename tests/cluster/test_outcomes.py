"""Each way a run can end, on a real Slurm, becomes a record that says so."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import PROGRAM

RAISES, CRASHES, SLEEPS, HOARDS = 1, 2, 3, 4
HOARDING_PROGRAM = "python3 -c 'x = bytearray(2_000_000_000)'; echo survived"
SLEEPING_PROGRAM = "sleep 600 & wait"


@pytest.mark.versions("out of memory, time limit")
def test_failing_crashing_timing_out_and_out_of_memory_cases_are_told_apart(cluster):
    """Of a framework and of programs at the same time: slurmctld looks every half minute whether a minute is over."""
    programs = cluster.experiment(
        "programs",
        parameters=PROGRAM,
        matrix={"command": [SLEEPING_PROGRAM, HOARDING_PROGRAM]},
        slurm={"time": "00:01:00", "mem": "300M"},
    )
    cluster("sweep", programs, "--name", "programs")
    experiment = cluster.experiment(
        parameters={"environment": "faulty", "task": "inference"},
        matrix={"seed": [0, RAISES, CRASHES, SLEEPS, HOARDS]},
        slurm={"time": "00:01:00", "mem": "700M"},
    )
    cluster("sweep", experiment, "--wait", expect=1)
    cluster("status", "programs", "--watch", expect=1)
    of_programs = [record for record in cluster.records() if record["parameters"]["framework"] == "command"]
    by_command = {record["parameters"]["command"]: record["status"] for record in of_programs}
    assert by_command == {SLEEPING_PROGRAM: "timeout", HOARDING_PROGRAM: "out_of_memory"}
    by_seed = {record["parameters"]["seed"]: record for record in cluster.records() if record not in of_programs}
    statuses = {seed: record["status"] for seed, record in by_seed.items()}
    assert statuses == {
        0: "completed",
        RAISES: "failed",
        CRASHES: "failed",
        SLEEPS: "timeout",
        HOARDS: "out_of_memory",
    }
    assert len({record["slurm"]["array_job_id"] for record in by_seed.values()}) == 1
    assert by_seed[RAISES]["error"]["message"] == "a deliberate mistake"
    assert "RuntimeError: a deliberate mistake" in by_seed[RAISES]["error"]["last_lines"][-1]
    assert by_seed[CRASHES]["error"]["signal"] == "SIGSEGV"
    assert all(record["measurements"] is None for seed, record in by_seed.items() if seed)
    assert len(by_seed[0]["measurements"]["times_s"]) >= 5


@pytest.mark.versions("without accounting")
def test_an_array_on_a_cluster_without_accounting_ends_the_same_way(bare_cluster):
    experiment = bare_cluster.experiment(
        parameters={"environment": "faulty", "task": "inference"},
        matrix={"seed": [0, RAISES, HOARDS]},
        slurm={"mem": "700M"},
    )
    bare_cluster("sweep", experiment, "--wait", expect=1)
    statuses = {record["parameters"]["seed"]: record["status"] for record in bare_cluster.records()}
    assert statuses == {0: "completed", RAISES: "failed", HOARDS: "out_of_memory"}


def test_the_error_of_srun_is_the_reason_that_a_step_was_not_created(bare_cluster):
    for name, option in (("wide", "--cpus-per-task=7"), ("large", "--mem=999G"), ("odd", "--cpu-bnd=cores")):
        site = bare_cluster.site(name, scheduler="slurm", launcher={"srun": [option]})
        experiment = bare_cluster.experiment(name, parameters=PROGRAM)
        bare_cluster("sweep", experiment, "--site", site, "--name", name, "--wait", expect=1)
    records = bare_cluster.records()
    reasons = {each["sweep"]: each["error"]["message"].partition("; Slurm reports: ")[2] for each in records}
    assert reasons["wide"].startswith("Unable to create step for job ")
    assert reasons["wide"].endswith("More processors requested than permitted")
    assert reasons["large"].endswith("Memory required by task is not available")
    assert reasons["odd"] == "unrecognized option '--cpu-bnd=cores'"


@pytest.mark.versions("accounting")
def test_a_job_script_that_is_killed_leaves_a_record_with_what_slurm_says(cluster):
    cluster("sweep", cluster.experiment(parameters={"environment": "vanishing"}), "--wait", expect=1)
    (record,) = cluster.records()
    assert record["status"] == "failed"
    assert record["error"]["message"] == "its job ended without leaving a record; Slurm reports FAILED"
    cluster("status")
    assert len(cluster.records()) == 1, "the outcome is written down once"


@pytest.mark.versions("GPU requests")
def test_a_gpu_case_gets_its_devices_and_says_that_this_pytorch_has_no_cuda(cluster):
    experiment = cluster.experiment(parameters={"device": "gpu"}, slurm={"partition": "gpu"})
    cluster("sweep", experiment, "--wait", expect=1)
    (record,) = cluster.records()
    assert record["status"] == "unsupported"
    assert "built for the CPU only" in record["error"]["message"]
    assert record["environment"]["CUDA_VISIBLE_DEVICES"] == "0"


def gpus_seen(cluster, key, tasks=1, seeds=(1,), **slurm):
    """Run a program with a GPU for each task; return the devices that it sees, in the order of `key`."""
    command = f'echo "${{CUDA_VISIBLE_DEVICES:--}}" > gpus.{key}; sleep 2'
    site = cluster.site("gpus", scheduler="slurm", partitions={"gpu": {"cpus_per_node": 2, "gpus_per_node": 2}})
    experiment = cluster.experiment(
        parameters={**PROGRAM, "command": command, "tasks_per_node": tasks, "gpus_per_task": 1},
        matrix={"seed": list(seeds)},
        slurm={"partition": "gpu", **slurm},
    )
    cluster("sweep", experiment, "--site", site, "--wait")
    return [path.read_text().strip() for path in sorted(cluster.workspace.glob("gpus.*"))]


@pytest.mark.long
@pytest.mark.versions("GPU requests")
@pytest.mark.parametrize("option", ["gres", "gpus-per-node", "gpus-per-task", "none"])
def test_the_tasks_of_a_run_see_the_gpus_of_their_job(cluster, slurm, option):
    """With --gpus-per-task, since Slurm 21.08, each task sees only its own GPUs. The devices are fake."""
    found = gpus_seen(cluster, "$SLURM_PROCID", tasks=2, gpu_option=option)
    binds = option == "gpus-per-task" and slurm("sinfo", "--version").split()[1] >= "21.08"
    assert found == (["-", "-"] if option == "none" else ["0", "1"] if binds else ["0,1", "0,1"])


@pytest.mark.long
@pytest.mark.versions("GPU requests")
@pytest.mark.parametrize("option", ["gres", "gpus-per-node", "gpus-per-task"])
def test_concurrent_runs_have_a_gpu_each(cluster, option):
    parallel = {"pack": "parallel", "pack_walltime": "00:05:00", "gpu_option": option}
    assert sorted(gpus_seen(cluster, "{{ seed }}", seeds=(1, 2), **parallel)) == ["0", "1"]
