from __future__ import annotations

import errno
import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp
from hpcbench.util import bounded_read

MakeSweep = Callable[..., Sweep]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Every write beyond this size fails, as on a full disk or over a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def left_in(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "jobs").glob("*")) if root.exists() else []


def test_a_sweep_is_written_whole(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}\nmeasure: {repetitions: 2}")
    names = {path.name for path in sweep.paths.jobs.iterdir()}
    assert names == {
        *("experiment.yaml", "site.yaml", "templates", "sweep.json", "provenance.json", "node.pyz"),
        *("job-001.jsonl", "job-001.sh", "logs", "packs"),
    }
    assert (sweep.paths.packs("job-001")).read_text() == "0\n1\n2\n3\n"
    assert sweep.paths.logs("job-001").is_dir()
    assert sweep.paths.results.is_dir()
    assert left_in(sweep.paths.jobs.parents[1]) == ["study-1"]


@pytest.mark.parametrize(
    ("slurm", "scheduler", "owned"),
    [
        ("{exclusive: true}", "slurm", True),
        ("{exclusive: true, pack_walltime: '02:00:00'}", "slurm", True),
        ("{exclusive: true, pack_walltime: '02:00:00', pack: parallel}", "slurm", False),
        ("{}", "slurm", False),
        ("{exclusive: true}", "local", False),
    ],
)
def test_runs_own_their_nodes_if_neither_jobs_nor_runs_share_them(
    make_sweep: MakeSweep, slurm: str, scheduler: str, *, owned: bool
) -> None:
    sweep = make_sweep(
        f"matrix: {{seed: [1, 2]}}\nslurm: {slurm}",
        "{}\npartitions: {cpu: {default: true, cpus_per_node: 16}}",
        scheduler=scheduler,
    )
    assert {run.owns_nodes for job in sweep.job_names for run in sweep.runs(job)} == {owned}


def test_ones_own_follow_on_is_kept_where_it_may_be_submitted(make_sweep: MakeSweep, tmp_path: Path) -> None:
    own = tmp_path / "workspace" / "templates"
    own.mkdir(parents=True)
    (own / "follow-on.sh.j2").write_text("mine")
    sweep = make_sweep("slurm: {follow_on: true}")
    assert (sweep.paths.jobs / "templates" / "follow-on.sh.j2").read_text() == "mine"


@pytest.mark.parametrize("jobs", [7, [], None, {"/dev/zero": {}}, {"../x": {}}, {"": {}}])
def test_a_sweep_whose_jobs_could_lead_elsewhere_is_refused(make_sweep: MakeSweep, jobs: object) -> None:
    sweep = make_sweep()
    sweep.paths.description.write_text(json.dumps({**sweep.description, "jobs": jobs}))
    with pytest.raises(UserError, match="the jobs of the sweep have names that hpcbench does not use"):
        load(sweep.paths)


@pytest.mark.parametrize("text", ["[" * 200_000, "7\n", "{}\n", "\n"])
def test_what_is_no_plan_is_a_mistake_and_no_traceback(make_sweep: MakeSweep, text: str) -> None:
    sweep = make_sweep()
    sweep.paths.runs("job-001").write_text(text)
    with pytest.raises(UserError, match="has an invalid run specification"):
        list(sweep.runs("job-001"))
    sweep.paths.description.write_text(text)
    with pytest.raises(UserError):
        load(sweep.paths)


def test_a_description_that_is_larger_than_any_is_refused(
    make_sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = make_sweep()
    monkeypatch.setattr(bounded_read, "MAX_BYTES", 10)
    with pytest.raises(UserError, match="it is larger than"):
        load(sweep.paths)


def test_a_sweep_reads_as_it_was_written(make_sweep: MakeSweep) -> None:
    written = make_sweep(
        "  week: 7\nuser_parameters: [week]\nmatrix: {seed: [1, 2]}\nmeasure: {repetitions: 2}\nslurm: {time: 00:10:00}"
    )
    sweep = load(written.paths)
    assert sweep == written
    assert (sweep.scheduler, sweep.job_names, sweep.limit_s("job-001")) == ("slurm", ["job-001"], 600)
    runs = list(sweep.runs("job-001"))
    assert [run.order for run in runs] == [0, 1, 2, 3]
    assert {(run.parameters["seed"], run.run) for run in runs} == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert {run.user_parameters["week"] for run in runs} == {7}
    assert {len(run.case_id) for run in runs} == {13}


@pytest.mark.parametrize(
    ("options", "scheduler", "exclusive"),
    [("{exclusive: true}", "slurm", True), ("{}", "slurm", False), ("{exclusive: true}", "local", False)],
)
def test_nodes_are_a_jobs_own_where_slurm_was_asked_for_that(
    make_sweep: MakeSweep, options: str, scheduler: str, exclusive: bool
) -> None:
    sweep = make_sweep(f"slurm: {options}", scheduler=scheduler)
    assert load(sweep.paths).is_exclusive("job-001") is exclusive


def test_a_sweep_keeps_the_text_that_it_was_made_from(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("# a comment\n")
    assert (sweep.paths.jobs / "experiment.yaml").read_text().endswith("# a comment\n")


def test_a_python_that_does_not_exist_is_found_before_anything_is_written(
    make_sweep: MakeSweep, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="the Python of environment 'pytorch' does not exist: /no/such/python"):
        make_sweep(site="python: /no/such/python", root=tmp_path / "workspace")
    assert left_in(tmp_path / "workspace") == []


@pytest.mark.parametrize("files", ["the first", "a later"])
def test_a_disk_that_is_full_leaves_nothing_behind_with_a_limit_of_the_file_size(
    files: str, make_sweep: MakeSweep, tmp_path: Path
) -> None:
    size, note = (1000, 1) if files == "the first" else (len(node_zipapp()) + 1000, 3000)
    with (
        pytest.raises(UserError, match=r"the sweep cannot be written: .*\n  nothing was submitted"),
        largest_file(size),
    ):
        make_sweep(
            f"user_parameters: [note]\nmatrix: {{seed: {{range: [1, 400]}}, note: [{'x' * note}]}}", root=tmp_path
        )
    assert left_in(tmp_path) == []


def test_a_disk_that_is_full_at_the_last_file_leaves_nothing_behind_with_a_patched_write(
    make_sweep: MakeSweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text = Path.write_text

    def full(path: Path, *args: object, **kwargs: object) -> int:
        if path.name == "sweep.json":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write_text(path, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UserError, match="No space left on device"):
        make_sweep(root=tmp_path)
    assert left_in(tmp_path) == []


def test_a_script_that_cannot_be_rendered_leaves_nothing_behind(make_sweep: MakeSweep, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "job.sh.j2").write_text("{{ nope }}")
    with pytest.raises(UserError, match="template"):
        make_sweep(root=tmp_path)
    assert left_in(tmp_path) == []


def test_a_sweep_never_replaces_another(make_sweep: MakeSweep) -> None:
    first = make_sweep()
    with pytest.raises(UserError, match=r"sweep '.*' already exists"):
        make_sweep("  seed: 7\n")
    assert load(first.paths) == first
    assert left_in(first.paths.jobs.parents[1]) == ["study-1"]


def test_the_rest_of_a_dead_attempt_does_no_harm(make_sweep: MakeSweep, tmp_path: Path) -> None:
    rest = tmp_path / "jobs" / ".study-1.dead"
    rest.mkdir(parents=True)
    (rest / "job-009.sh").write_text("old")
    (rest / "sweep.json").write_text("{}")
    assert not (make_sweep(root=tmp_path).paths.jobs / "job-009.sh").exists()
    assert Workspace(tmp_path).sweeps() == ["study-1"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        ("{", "cannot be read"),
        (json.dumps({"schema": 99, "hpcbench_version": "9.9"}), r"another version of hpcbench \(9.9\)"),
        ("[]", "."),
    ],
)
def test_a_description_that_cannot_be_used_is_refused(content: str | None, words: str, tmp_path: Path) -> None:
    paths = Workspace(tmp_path).paths("study-1")
    paths.jobs.mkdir(parents=True)
    if content is not None:
        paths.description.write_text(content)
    with pytest.raises(UserError, match=words) as caught:
        load(paths)
    assert caught.value.where == str(paths.description)
