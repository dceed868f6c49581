"""A sweep of a command that does nothing, on a real Slurm with 64 virtual nodes, to its end; beside it SbatchMan.

`make bench-scale` runs 500 cases (minutes), `make soak` 10,000 (an hour or two). Nothing else should run meanwhile.
What cases take is the work of this machine's few cores for 64 nodes: hence the floor, `srun true` in the same arrays.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from calls import Calls
from measuring import HPCBENCH, Cost, FailedError, clean_environment, once, show
from sbatchman import NotInstalledError, SbatchMan
from tallies import Files, count_files, tally_of
from virtual_cluster import NoSlurmError, partition, virtual_cluster, wait_until_left

from hpcbench.config.slurm_options import time_text

NODES = 64
PACKS = 2 * NODES  # so many jobs at most: each node runs two of them, one after another
PEER_CASES = 500  # of SbatchMan, and of the floor
CASE_S = 300  # the wall time of a repetition: on few cores, 64 nodes are slow
HUNG_S, HUNG_CASE_S = 600, 2  # and for each case: what has not ended then counts as hung
EXPERIMENT = """
name: scale
parameters: {{framework: command, command: "true", cpus_per_task: 1}}
user_parameters: [number]
matrix: {{number: {{range: [1, {cases}]}}}}
measure: {{repetitions: 1, retries: 0}}
slurm: {{time: "{case_s}", pack_walltime: "{pack_s}"}}
"""
FLOOR = """#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=1 --time=1-00:00:00 --output=/dev/null
for number in {1..SRUNS}; do srun --nodes=1 --ntasks=1 --cpus-per-task=1 true; done
"""


def per_pack(cases: int) -> int:
    """How many cases share a job."""
    return -(-cases // PACKS)


def packs_of(cases: int) -> int:
    """How many jobs that makes."""
    return -(-cases // per_pack(cases))


def experiment(cases: int) -> str:
    """The experiment file."""
    return EXPERIMENT.format(cases=cases, case_s=time_text(CASE_S), pack_s=time_text(CASE_S * per_pack(cases)))


class Sweep:
    """The sweep, and the folder that it runs in."""

    def __init__(self, folder: Path, calls: Calls, cases: int) -> None:
        self.folder, self.calls, self.cases = folder, calls, cases
        (folder / "scale.yaml").write_text(experiment(cases))

    def run(self, *words: str) -> tuple[Cost, Counter[str]]:
        """What an hpcbench command took, and what it asked of Slurm."""
        self.calls.taken()
        good = (0, 1) if words[0] in ("report", "resume") else (0,)  # 1: some case did not complete
        cost = once([HPCBENCH, *words], self.folder, self.calls.environment, good)
        return cost, self.calls.taken()

    def show(self, what: str, goal: str, *words: str) -> None:
        """Run it, and print that."""
        cost, asked = self.run(*words)
        show(what, f"{cost.seconds:.2f} s", f"{goal}{cost.megabytes:.0f} MB, {cost.cpu_s:.2f} s of CPU; {said(asked)}")

    def count(self) -> Files:
        return count_files([self.folder / "jobs" / "scale", self.folder / "results" / "scale"])


def said(asked: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(asked.items())) or "Slurm was not asked"


def bench_sweep(sweep: Sweep, floor_s: float) -> bool:
    """To its end: the figures of each command on the way. Whether each case has completed, once."""
    cases, cluster = sweep.cases, sweep.calls.environment
    print(f"\nhpcbench: {cases:,} cases of `true` in {packs_of(cases)} jobs on {NODES} nodes")
    partition("DOWN", cluster)
    sweep.show("submit", "goal: under 20 sbatch; ", "sweep", "scale.yaml", "--site", "local-slurm", "--name", "scale")
    sweep.show("status while all wait", "goal: under 2 s; ", "status", "scale")
    start = time.monotonic()
    partition("UP", cluster)
    wait_until_left(packs_of(cases) // 2, cluster, limit_s(cases))
    sweep.show("status in the midst of it", "goal: under 2 s; ", "status", "scale")
    hung = wait_until_left(0, cluster, limit_s(cases))
    seconds = time.monotonic() - start
    sweep.show("status at the end", "goal: under 2 s; ", "status", "scale")
    sweep.show("report", "goal: under 5 s; ", "report", "scale", "--csv", "scale.csv")
    sweep.show("resume, with nothing left to do", "", "resume", "scale")
    each = f"{1000 * seconds / cases:.0f} ms each, {seconds / cases / floor_s:.1f} x the floor"
    show("from the start of the first job to the end of all", f"{seconds:.0f} s", each)
    found = tally_of(cases, sweep.folder / "results" / "scale" / "records")
    counts = f"{found.lost} / {found.double} / {hung}"
    show("cases lost / cases double / jobs hung", counts, f"goal: none; {found.failed} cases did not complete")
    left = sweep.count()
    show("files", f"{left.files:,}", f"in {left.folders:,} folders; the largest: {left.largest:,}, goal: at most 1,000")
    return not any((*found, hung))


def limit_s(cases: int) -> float:
    return HUNG_S + HUNG_CASE_S * cases


def bench_floor(folder: Path, cases: int, cluster: dict[str, str]) -> float:
    """Seconds for each of so many `srun true`, in arrays like those of the sweep."""
    script = folder / "floor.sh"
    script.write_text(FLOOR.replace("SRUNS", str(per_pack(cases))))
    start = time.monotonic()
    packs = packs_of(cases)
    subprocess.run(
        ["sbatch", f"--array=0-{packs - 1}", script], cwd=folder, env=cluster, check=True, capture_output=True
    )
    wait_until_left(0, cluster, limit_s(cases))
    seconds = (time.monotonic() - start) / (packs * per_pack(cases))
    show(f"the floor: `srun true`, {packs * per_pack(cases):,} times in {packs} jobs", f"{1000 * seconds:.0f} ms each")
    return seconds


def bench_sbatchman(folder: Path, cases: int, cluster: dict[str, str]) -> None:
    """The same cases. It times nothing and watches nothing: a case is only run."""
    print(f"\nSbatchMan: {cases:,} of the same cases, one job each")
    folder.mkdir()
    try:
        measure_sbatchman(SbatchMan(folder, cluster), cases, cluster)
    except NotInstalledError as error:
        show("submit", "not measured", f"pip could not install it: {error}")
    except FailedError as error:  # what was measured of hpcbench before counts all the same
        show("the rest", "not measured", " ".join(str(error).split())[-500:])


def measure_sbatchman(peer: SbatchMan, cases: int, cluster: dict[str, str]) -> None:
    """The figures of each command on the way. Raises FailedError where one fails."""
    folder = peer.folder
    peer.prepare(cases)
    calls = Calls(folder, peer.variables)
    start = time.monotonic()
    cost = once(peer.command("launch", "--file", "jobs.yaml"), folder, calls.environment)
    show("submit", f"{cost.seconds:.2f} s", f"{cost.megabytes:.0f} MB; {said(calls.taken())}")
    cost = once(peer.command("update-jobs-status"), folder, calls.environment)
    show("update-jobs-status in the midst of it", f"{cost.seconds:.2f} s", f"{said(calls.taken())}")
    wait_until_left(0, cluster, limit_s(cases))
    seconds = time.monotonic() - start
    show("from the first submission to the end of all", f"{seconds:.0f} s", f"{1000 * seconds / cases:.0f} ms each")
    left = count_files([peer.experiments])
    show("files", f"{left.files:,}", f"in {left.folders:,} folders; the largest: {left.largest:,}")
    once(peer.command("update-jobs-status"), folder, calls.environment)
    show("cases that completed, as it says", f"{peer.completed()} of {cases}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=PEER_CASES, help="of the sweep; those of SbatchMan are at most 500"
    )
    cases: int = parser.parse_args().cases
    folder = Path(tempfile.mkdtemp(prefix="hpcbench-scale-"))
    try:
        environment = {**clean_environment(), "HPCBENCH_SITE": "local-slurm"}
        with virtual_cluster(
            "/var/lib/hpcbench-scale", 30000, environment, nodes=str(NODES), cpus="1", name="scale"
        ) as cluster:
            few = min(cases, PEER_CASES)
            floor_s = bench_floor(folder, few, cluster)
            good = bench_sweep(Sweep(folder, Calls(folder, cluster), cases), floor_s)
            bench_sbatchman(folder / "sbatchman", few, cluster)
            return 0 if good else 1
    except NoSlurmError as error:
        show(f"a sweep on {NODES} virtual nodes", "not measured", f"no Slurm could be started here: {error}")
        return 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
