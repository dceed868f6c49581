"""How a job script runs the pack of its array index, and what makes it give up. In real bash; its zipapp is a fake."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from tests.submit.around import Around

MakeSweep = Callable[..., Sweep]
SEVEN = "matrix: {seed: {range: [1, 7]}}\nmeasure: {repetitions: 1}\n"
THREE_EACH = "slurm: {time: '00:10:00', pack_walltime: '00:30:00'}"
SIDE_BY_SIDE = "slurm: {time: '00:10:00', pack_walltime: '00:20:00', pack: parallel, partition: a}"
FOUR_CPUS = "{}\npartitions: {a: {cpus_per_node: 4}}"
RUN = ["monitor", "rank", "monitor's", "record"]


@pytest.fixture
def packed(make_sweep: MakeSweep, tmp_path: Path) -> Around:
    """Seven repetitions, in packs of three."""
    return Around(make_sweep(SEVEN + THREE_EACH), tmp_path)


def test_a_pack_runs_its_elements_one_after_another(packed: Around) -> None:
    done = packed.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert packed.ran == [0, 1, 2]
    assert packed.steps == 3 * RUN


@pytest.mark.parametrize(("index", "elements"), [("0", [0, 1, 2]), ("1", [3, 4, 5]), ("2", [6])])
def test_an_index_of_the_array_runs_the_pack_in_its_line(packed: Around, index: str, elements: list[int]) -> None:
    packed.run(SLURM_ARRAY_TASK_ID=index)
    assert packed.ran == elements
    results = packed.sweep.paths.results
    assert set(packed.told_to_record("--records")) == {f"{results}/records/job-001/42_{index}.jsonl"}
    assert set(packed.told_to_record("--batch")) == {"job-001"}
    assert set(packed.told_to_record("--log")) == {str(packed.sweep.paths.log("job-001", int(index), "42"))}


def test_only_where_several_share_the_job_the_record_is_told_so(packed: Around) -> None:
    packed.run(SLURM_ARRAY_TASK_ID="1")
    packed.run(SLURM_ARRAY_TASK_ID="2")
    told = [line for line in packed.called if line.startswith("record")]
    assert ["--shared" in line for line in told] == [True, True, True, False]


def test_a_batch_that_is_named_has_packs_logs_and_records_of_its_own(packed: Around) -> None:
    packs.write(packed.sweep.paths.packs("job-001.beef"), [(6, 2)])
    packed.run("job-001.beef")
    assert packed.ran == [6, 2]
    results = packed.sweep.paths.results
    assert set(packed.told_to_record("--records")) == {f"{results}/records/job-001.beef/42_0.jsonl"}
    assert packed.told_to_record("--scratch") == [f"{results}/running/job-001.beef/{e}-43-0-1" for e in (6, 2)]


def test_a_failure_of_one_does_not_keep_the_others_from_running(packed: Around) -> None:
    packed.records_end_with(0, 1, 0)
    assert packed.run().returncode == 1
    assert packed.ran == [0, 1, 2]


def test_one_that_is_run_again_comes_before_the_next(packed: Around) -> None:
    packed.records_end_with(75, 0, 75, 75, 0, 0)
    assert packed.run().returncode == 0
    assert packed.ran == [0, 0, 1, 1, 1, 2]
    assert packed.told_to_record("--attempt") == ["1", "2", "1", "2", "3", "1"]


def test_a_script_that_is_told_to_end_records_the_one_that_runs_and_begins_no_other(packed: Around) -> None:
    packed.records_end_with(0, 75, 0)
    packed.run(STOPPED_IN="1")
    assert packed.ran == [0, 1]
    assert packed.told_to_record("--stopped") == ["", "TERM"]


def test_each_of_a_pack_has_the_whole_wall_time_of_a_repetition(packed: Around) -> None:
    packed.fake.write_text(packed.fake.read_text().replace("spawn | rank)", "spawn | rank) sleep 2.1;"))
    begin_s = time.monotonic()
    packed.run()
    all_s = time.monotonic() - begin_s
    limits = [int(*re.findall(r"--limit (\d+)", line)) for line in packed.called if line.startswith("rank")]
    assert len(limits) == 3
    assert min(limits) >= 599, "bash counts whole seconds, of which one may begin just then"
    assert all(1 <= int(each) < 0.8 * all_s for each in packed.told_to_record("--elapsed")), "each has its own clock"


def test_each_of_a_pack_has_a_part_of_the_log_of_its_own(packed: Around) -> None:
    log = packed.sweep.paths.log("job-001", 0, "42")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("the set-up\n")
    text = packed.fake.read_text().replace("spawn | rank)", f'spawn | rank) echo "of $3" >> "{log}";')
    packed.fake.write_text(text)
    packed.run()
    assert packed.told_to_record("--log-from") == ["11", "16", "21"]


@pytest.mark.parametrize(("left", "ran"), [("1 2", [1, 2]), ("2", [2]), ("", [])])
def test_a_job_that_slurm_started_anew_asks_what_is_left_to_run(packed: Around, left: str, ran: list[int]) -> None:
    done = packed.run(SLURM_RESTART_COUNT="1", STILL_TO_RUN=left)
    assert (done.returncode, done.stderr) == (0, "")
    asked = packed.called[0].split()
    assert asked[0] == "restarted"
    assert asked[2:5] == ["0", "1", "2"]
    assert packed.ran == ran
    paths = packed.sweep.paths
    records = f"{paths.results}/records/job-001.1/42_0.jsonl"
    assert asked[asked.index("--records") + 1] == records
    assert asked[asked.index("--running") + 1] == str(paths.running("job-001"))
    assert asked[asked.index("--log") + 1] == str(paths.log("job-001", 0, "42"))
    assert set(packed.told_to_record("--records")) <= {records}
    assert packed.told_to_record("--scratch") == [f"{paths.running('job-001')}/{e}-43-1-1" for e in ran]


def test_what_was_done_before_a_restart_must_be_readable(packed: Around) -> None:
    packed.fake.write_text(packed.fake.read_text().replace("restarted) ", "restarted) exit 1;"))
    done = packed.run(SLURM_RESTART_COUNT="1", STILL_TO_RUN="0 1 2")
    assert (done.returncode, packed.ran) == (1, [])
    assert "gave up: what was done before this restart cannot be read" in done.stderr


def test_a_batch_that_is_thought_lost_runs_nothing_when_it_comes_up_all_the_same(packed: Around) -> None:
    paths = packed.sweep.paths
    journal = Journal(paths)
    for name in ("job-001.dead", "job-001.beef"):
        packs.write(paths.packs(name), [(0,)])
        journal.submitting(Batch(paths, name))
    journal.rejected(journal.batches[0], 'hpcbench died before "Slurm" had it')
    journal.submitted(journal.batches[1], "42")
    done = packed.run("job-001.dead")
    assert (done.returncode, done.stderr) == (1, "hpcbench: gave up: another job runs this\n")
    assert packed.run("job-001.beef").returncode == 0
    assert packed.ran == [0]


@pytest.mark.parametrize("index", ["3", "999"])
def test_an_index_without_a_pack_is_told(packed: Around, index: str) -> None:
    done = packed.run(SLURM_ARRAY_TASK_ID=index)
    assert done.returncode == 1
    assert done.stderr == f"hpcbench: gave up: packs/job-001 does not say what index {index} of the array runs\n"


def test_a_batch_without_packs_is_told(packed: Around) -> None:
    done = packed.run("job-001.gone")
    assert done.returncode == 1
    assert "packs/job-001.gone does not say what index 0" in done.stderr


def test_a_node_that_does_not_see_the_sweep_says_so_at_once(packed: Around) -> None:
    script = packed.script.read_text()
    jobs = packed.sweep.paths.jobs
    shutil.move(jobs, jobs.with_name("elsewhere"))
    done = subprocess.run(["bash", "-c", script, "script"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"hpcbench: gave up: \S+ does not see {jobs}\n", done.stderr)


def test_a_node_that_cannot_write_the_results_says_so_at_once(packed: Around) -> None:
    results = packed.sweep.paths.results
    shutil.rmtree(results)
    results.write_text("no folder")
    done = packed.run()
    assert done.returncode == 1
    assert re.search(rf"gave up: \S+ cannot write to {results}\n", done.stderr)


def test_a_pack_asks_for_the_time_of_all_that_it_runs(packed: Around, make_sweep: MakeSweep) -> None:
    assert "#SBATCH --array=0-2\n" in packed.script.read_text()
    assert "#SBATCH --time=0:30:00\n" in packed.script.read_text()
    single = make_sweep(SEVEN + "slurm: {time: '00:10:00'}", name="study-2").paths.script("job-001").read_text()
    assert "#SBATCH --array=0-6\n" in single
    assert "#SBATCH --time=00:10:00\n" in single


@pytest.fixture
def side_by_side(make_sweep: MakeSweep, tmp_path: Path) -> Around:
    """Seven repetitions, in two turns of four side by side."""
    return Around(make_sweep(SEVEN + SIDE_BY_SIDE, FOUR_CPUS), tmp_path)


def test_side_by_side_all_of_a_pack_run_and_each_is_recorded(side_by_side: Around) -> None:
    side_by_side.records_end_with()
    done = side_by_side.run(SLURM_MEM_PER_NODE="4000")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(side_by_side.ran) == list(range(7))
    assert sorted(side_by_side.steps) == sorted(7 * RUN)
    tasks = [line for line in side_by_side.sruns if " rank " in line]
    assert all("--exact" in line and "--mem=1000" in line and "--gres=none" in line for line in tasks)


def test_side_by_side_no_more_run_at_once_than_fit(side_by_side: Around, tmp_path: Path) -> None:
    now, most = tmp_path / "now", tmp_path / "most"
    now.mkdir()
    count = f'touch "{now}/$3"; set -- "{now}"/*; echo $# >> "{most}"; sleep 0.5; rm "{now}/${{mine}}";'
    text = side_by_side.fake.read_text().replace("spawn | rank)", f"spawn | rank) mine=$3; {count}")
    side_by_side.fake.write_text(text)
    side_by_side.run()
    assert max(map(int, most.read_text().split())) <= 4
    assert sorted(side_by_side.ran) == list(range(7))
