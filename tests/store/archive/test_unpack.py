"""Archives of anybody: what is no sweep is refused, whatever it tries, and leaves nothing behind."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.errors import UserError
from hpcbench.store.archive import unpack
from hpcbench.store.archive.pack import write
from hpcbench.store.archive.unpack import unpacked
from hpcbench.store.workspace import SweepPaths
from tests.store.archive.conftest import FILES

Members = list[tuple[tarfile.TarInfo, bytes]]
Pack = Callable[..., Path]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where archives are unpacked; whatever a test does, nothing stays there, and nothing comes beside it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert not (tmp_path / "pwned").exists()


def member(name: str, content: bytes = b"{}", **changes: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in changes.items():
        setattr(info, key, value)
    return info, content


SWEEP = [member("jobs/s/sweep.json")]


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """An archive of these members; `cut` bytes are missing at its end."""

    def make(members: Members, cut: int = 0) -> Path:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for info, content in members:
                tar.addfile(info, io.BytesIO(content))
        file = tmp_path / "s.tar.gz"
        packed = gzip.compress(buffer.getvalue())
        file.write_bytes(packed[: len(packed) - cut])
        return file

    return make


def refused(file: Path) -> str:
    with pytest.raises(UserError) as caught, unpacked(file):
        pytest.fail("it was unpacked")
    assert str(file) in str(caught.value)
    return str(caught.value)


def test_what_was_written_is_read_and_removed(paths: SweepPaths, tmp_path: Path) -> None:
    file = write(paths, tmp_path / "s.tar.gz", lambda done, files: None).file
    with unpacked(file) as found:
        root = found.jobs.parents[1]
        assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == set(FILES)
        assert all((root / name).read_text() == text for name, text in FILES.items())
        assert (found.name, found.archive) == ("s", file)
        assert root.stat().st_mode & 0o077 == 0, "it is private"


def test_it_is_removed_after_an_error_too(paths: SweepPaths, tmp_path: Path) -> None:
    file = write(paths, tmp_path / "s.tar.gz", lambda done, files: None).file
    with pytest.raises(KeyboardInterrupt), unpacked(file):
        raise KeyboardInterrupt


def test_one_that_tar_itself_has_made_is_read(paths: SweepPaths, tmp_path: Path) -> None:
    file = tmp_path / "own.tgz"
    with tarfile.open(file, "w:gz") as tar:
        for kind in ("results", "jobs"):
            tar.add(tmp_path / "workspace" / kind / "s", f"{kind}/s")
    with unpacked(file) as found:
        assert (found.jobs / "job-001.sh").is_file()


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../pwned", "jobs/../pwned", "jobs/s/../../../pwned", "jobs/s/./x", "./jobs/s/x", "jobs//s/x"),
        *(
            "jobs/..",
            "jobs",
            "results",
            "pwned",
            "s/jobs/x",
            "jobs/.s/x",
            "jobs/s x/y",
            "jobs/s/a\nb",
            "jobs/s/\x1b[2J",
        ),
        *("jobs/s/" + "d/" * 20 + "x", "jobs/s/" + "n" * 2000, "jobs/-rf/x", "", "/", "JOBS/s/x"),
    ],
)
def test_a_name_outside_of_a_sweep_is_refused(pack: Pack, name: str) -> None:
    assert "is not an archive of a sweep" in refused(pack([*SWEEP, member(name)]))


KINDS = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["/etc/passwd", "../../../pwned", "sweep.json"])
def test_what_is_no_plain_file_is_refused(pack: Pack, kind: bytes, target: str) -> None:
    said = refused(pack([*SWEEP, member("jobs/s/x", b"", type=kind, linkname=target)]))
    assert "'jobs/s/x' is not a plain file" in said


def test_nothing_is_written_through_a_link_that_came_before(pack: Pack, tmp_path: Path) -> None:
    link = member("jobs/s/out", b"", type=tarfile.SYMTYPE, linkname=str(tmp_path))
    assert "not a plain file" in refused(pack([*SWEEP, link, member("jobs/s/out/pwned")]))


def test_two_sweeps_are_refused(pack: Pack) -> None:
    said = refused(pack([*SWEEP, member("results/t/records/0.jsonl")]))
    assert "two sweeps, s and t" in said
    assert "hpcbench archive SWEEP" in said


@pytest.mark.parametrize(
    "members",
    [
        [member("jobs/s/x"), member("jobs/s/x")],
        [member("jobs/s/x"), member("jobs/s/x/y")],
        [member("jobs/s/x/y"), member("jobs/s/x")],
    ],
)
def test_a_name_that_comes_twice_is_refused(pack: Pack, members: Members) -> None:
    assert "twice" in refused(pack([*SWEEP, *members]))


def test_an_archive_without_a_sweep_is_refused(pack: Pack) -> None:
    assert "has no sweep" in refused(pack([member("results/s/x")]))
    assert "has no sweep" in refused(pack([]))


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", b"\x1f\x8b", gzip.compress(b""), gzip.compress(b"x" * 5000), b"PK\3\4"],
    ids=["empty", "text", "magic", "nothing", "no tar", "zip"],  # gzip writes the time
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.tar.gz"
    file.write_bytes(content)
    said = refused(file)
    assert "is not an archive of a sweep, or is damaged" in said or "has no sweep" in said


@pytest.mark.parametrize("cut", [1, 9, 100, 1000])
def test_one_that_is_cut_off_is_refused(pack: Pack, cut: int) -> None:
    members = [*SWEEP, *(member(f"jobs/s/{number}", os.urandom(1000)) for number in range(10))]
    assert "damaged" in refused(pack(members, cut))


def test_a_flipped_bit_is_noticed(pack: Pack) -> None:
    file = pack([*SWEEP, member("jobs/s/x", os.urandom(5000))])
    content = bytearray(file.read_bytes())
    content[2500] ^= 1
    file.write_bytes(bytes(content))
    assert "damaged" in refused(file)


def test_something_after_the_end_is_refused(tmp_path: Path, pack: Pack) -> None:
    file = pack(SWEEP)
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()) + b"more"))
    assert "unexpected data after the last file" in refused(file)
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes())[:-4] + b"\0" * (2 * unpack.MAX_HEAD)))
    assert "unexpected data after the last file" in refused(file)


def test_a_bomb_ends_before_it_is_written(pack: Pack, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    file = pack([*SWEEP, member("jobs/s/x", b"\0" * 5_000_000)])
    assert file.stat().st_size < 10_000
    monkeypatch.setattr(unpack, "MAX_BYTES", 1_000_000)
    assert "the archive is too large" in refused(file)


def test_more_files_than_any_sweep_has_are_refused(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MAX_ENTRIES", 5)
    said = refused(pack([*SWEEP, *(member(f"jobs/s/{number}") for number in range(5))]))
    assert "more than 5 files" in said


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK])
def test_a_head_of_any_size_is_not_read_into_memory(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("head")
    info.type, info.size = kind, 50_000_000
    file = tmp_path / "s.tar.gz"
    file.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * info.size))
    assert "a header is too large" in refused(file)


def test_heads_without_end_are_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("head")
    info.type, info.size = tarfile.XHDTYPE, 12
    block = info.tobuf(tarfile.PAX_FORMAT) + b"12 path=abc\n".ljust(512, b"\0")
    file = tmp_path / "s.tar.gz"
    file.write_bytes(gzip.compress(block * 5000))
    assert "damaged" in refused(file)


def test_a_head_for_all_files_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("jobs/s/sweep.json")
    heads = b"".join(info.create_pax_global_header({f"key{number}": "x" * 900_000}) for number in range(3))
    file = tmp_path / "s.tar.gz"
    file.write_bytes(gzip.compress(heads[: len(heads) // 3] + info.tobuf() + heads + b"\0" * 1024))
    assert "has a global header" in refused(file)


def test_long_heads_take_room_too(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    members = [*SWEEP, *(member(f"jobs/s/{number}") for number in range(10))]
    for info, _ in members:
        info.pax_headers = {"comment": "x" * 100_000}
    monkeypatch.setattr(unpack, "MAX_BYTES", 500_000)
    assert "the archive is too large" in refused(pack(members))


def test_folders_that_come_with_a_name_are_counted(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MAX_ENTRIES", 20)
    with unpacked(pack([*SWEEP, member("jobs/s/logs/a/b/c")])):
        pass
    said = refused(pack([*SWEEP, *(member(f"jobs/s/{number}/b/c/d/e") for number in range(5))]))
    assert "more than 20 files and folders" in said


def test_the_smallest_file_and_a_folder_take_a_block_each(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MAX_BYTES", 4096 * 100)
    assert "is too large" in refused(pack([*SWEEP, *(member(f"jobs/s/{number}", b"") for number in range(100))]))
    assert "is too large" in refused(pack([*SWEEP, *(member(f"jobs/s/{number}/x", b"") for number in range(50))]))


def test_what_a_report_reads_is_bounded_more_closely_than_logs_are(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MAX_READ", 100_000)
    content = b"0" * 100_000
    with unpacked(pack([*SWEEP, member("jobs/s/logs/job-001/log", content), member("results/s/timelines/x", content)])):
        pass
    with unpacked(pack([*SWEEP, member("results/s/output/job-001/local.txt.gz", content)])):
        pass
    for name in ("results/s/records/job-001/0.jsonl", "jobs/s/sweep.jsonl"):
        assert "outside logs, output, timelines" in refused(pack([*SWEEP, member(name, content)]))


def sparse(members: list[bytes]) -> bytes:
    """A file of GNU's format 1.0, which says where its few bytes lie in a huge hole."""
    head = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "jobs/s/x",
        "GNU.sparse.realsize": "4096",
    }
    info = tarfile.TarInfo("jobs/s/x")
    info.pax_headers, info.size = head, sum(map(len, members))
    return info.tobuf(tarfile.PAX_FORMAT) + b"".join(members)


def test_a_file_with_holes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.tar.gz"
    file.write_bytes(gzip.compress(sparse([b"1\n0\n0\n".ljust(512, b"\0")]) + b"\0" * 1024))
    assert "not a plain file" in refused(file)


def test_a_map_of_holes_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    file = tmp_path / "s.tar.gz"
    file.write_bytes(gzip.compress(sparse([b"999999999\n", b"0\n" * 3_000_000])))
    assert "a header is too large" in refused(file)


def test_a_disk_that_has_no_room_is_no_surprise_with_a_made_up_disk(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    assert "the free space of" in refused(pack([*SWEEP, member("jobs/s/x", b"0" * 5000)]))


@given(st.data())
def test_no_damage_is_more_than_a_refusal(data: st.DataObject) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for info, content in [*SWEEP, member("jobs/s/x" * 5, b"abc"), member("results/s/" + "y" * 120, b"abc")]:
            tar.addfile(info, io.BytesIO(content))
    content = bytearray(buffer.getvalue())
    for place in data.draw(st.lists(st.integers(0, 5000), max_size=6)):
        content[place] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.tar.gz"
        file.write_bytes(gzip.compress(bytes(content), 1))
        with suppress(UserError), unpacked(file) as found:
            assert found.name


def test_owner_mode_and_time_of_an_archive_are_not_taken_over(pack: Pack) -> None:
    with unpacked(pack([*SWEEP, member("jobs/s/x", mode=0o4777, uid=12345, mtime=1)])) as found:
        status = (found.jobs / "x").stat()
        assert status.st_mode & 0o7022 == 0
        assert status.st_uid == os.getuid()
        assert status.st_mtime > 1_000_000_000
