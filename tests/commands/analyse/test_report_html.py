"""`hpcbench report --html`: where the page goes, what is said meanwhile, and the mistakes that users make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a sweep of two commands, and with `lone`, of one, whose page has no figures and is made sooner.
    No test changes them."""
    from tests.conftest import CommandLine

    folder = tmp_path_factory.mktemp("workspace")
    content = {
        "name": "trial",
        "parameters": {"framework": "command"},
        "matrix": {"command": ["sleep 0.02", "sleep 0.04"]},
        "measure": {"repetitions": 2, "idle_node": "ignore"},
    }
    lone = {**content, "matrix": {"command": ["true"]}, "measure": {"repetitions": 1, "idle_node": "ignore"}}
    for name, each in (("lone", lone), ("trial", content)):
        (folder / f"{name}.yaml").write_text(json.dumps(each))
        CommandLine(folder)("sweep", f"{name}.yaml", "--local", "--name", name)
    return folder


@pytest.fixture
def report(measured: Path) -> Any:
    from tests.conftest import CommandLine

    return lambda *arguments, expect=0: CommandLine(measured)("report", *arguments, expect=expect)


def test_the_page_is_written_beside_the_report_and_how_to_run_it_again_stands_in_it(
    report: Any, tmp_path: Path
) -> None:
    done = report("--html", str(tmp_path / "page.html"))
    assert "within noise" in done.stdout or "faster" in done.stdout
    assert done.stderr == f"wrote {tmp_path}/page.html\n"
    text = (tmp_path / "page.html").read_text()
    assert "hpcbench sweep --from trial" in text
    assert "hpcbench archive trial" in text
    assert "hpcbench resume trial" not in text, "nothing is missing"
    assert "trial; trial on laptop, planned 20" in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_on_stdout_the_page_is_alone(report: Any) -> None:
    done = report("--html", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.rstrip().endswith("</html>")
    assert done.stderr == ""


@pytest.mark.parametrize("other", [["--csv", "-"], ["--tables", "latex"]], ids=str)
def test_two_things_cannot_be_written_to_stdout(report: Any, other: list[str]) -> None:
    done = report("--html", "-", *other, expect=2)
    assert "--html -" in done.stderr
    assert f"cannot be used with {' '.join(other)}" in done.stderr or f"{' '.join(other)} cannot be used" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (".", "is a directory"),
        ("no/such/folder/page.html", "cannot be written: No such file or directory"),
        ("/proc/page.html", "cannot be written"),
        ("/dev/full", "'/dev/full' cannot be written: No space left on device"),
    ],
)
def test_a_place_that_cannot_be_written_is_told(report: Any, place: str, said: str) -> None:
    done = report("lone", "--html", place, expect=2)
    assert said in done.stderr
    assert "wrote" not in done.stderr


def test_a_page_that_is_there_is_replaced_whole(report: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("x" * 10_000_000)
    report("--html", str(page))
    assert page.read_text().rstrip().endswith("</html>")
