"""The rows of operator profiles, from the scratch folder to the file next to the records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpcbench.core.profiling.operator_row import OperatorLine, OperatorRow
from hpcbench.core.typed_json import from_json, to_json
from hpcbench.node.results import operator_rows
from tests.fixtures.records import a_record

ROW = OperatorRow("gemm", "aten.mm.default", "forward", "{}", hot_s=1e-3)
LINE = json.dumps(to_json(ROW))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The scratch folder, and the file of records."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return scratch, tmp_path / "records/job-1.abcd/42_0.jsonl"


@pytest.mark.parametrize("content", [LINE + "\n", LINE + "\n" + LINE[:40], "[]\n" + LINE + "\n{}\n"])
def test_whole_rows_are_kept_with_their_run(folders: tuple[Path, Path], tmp_path: Path, content: str) -> None:
    scratch, records = folders
    (scratch / "operators.jsonl").write_text(content)
    record = a_record()
    for _ in range(2):
        assert operator_rows.keep(record, [{"host": "n7"}], str(scratch), str(records))
    first, second = (tmp_path / "operators/job-1.abcd/42_0.jsonl").read_text().splitlines()
    assert first == second
    line = from_json(OperatorLine, json.loads(first))
    assert line == OperatorLine(record.sweep, record.case_id, record.run, record.started_at, "n7", line.row)
    assert to_json(line.row) == json.loads(LINE)


def test_a_run_without_profile_leaves_no_file(folders: tuple[Path, Path], tmp_path: Path) -> None:
    assert operator_rows.keep(a_record(), [], str(folders[0]), str(folders[1]))
    assert not (tmp_path / "operators").exists()


def test_rows_that_cannot_be_kept_are_a_message(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / "operators.jsonl").write_text(LINE + "\n")
    (tmp_path / "operators").write_text("in the way")
    assert not operator_rows.keep(a_record(), [], str(folders[0]), str(folders[1]))
    assert "hpcbench: the operator profile was not kept: " in capsys.readouterr().err
