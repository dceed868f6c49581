"""`hpcbench report --published`: the times of a file next to the measured ones. Its numbers were not measured."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable

import pytest

from tests.conftest import CommandLine

COLUMNS = "m n k a_trans b_trans w h c_in c_out filter_w filter_h pad_w pad_h stride_w stride_h hidden timesteps"
TIMES = f"""device,precision,op,phase,{COLUMNS.replace(" ", ",")},floats,ranks,time_ms,source
Chip,Float,gemm,forward,8,4,2,N,N,,,,,,,,,,,,,,,0.25,
"""
OF_COMMANDS = {"framework": "command", "command": "true"}


@pytest.fixture
def swept(invoke: CommandLine) -> CommandLine:
    """The command line in a workspace with the file times.csv and a sweep of a command."""
    experiment = {"name": "trial", "parameters": OF_COMMANDS, "measure": {"repetitions": 1, "retries": 0}}
    (invoke.workspace / "trial.yaml").write_text(json.dumps(experiment))
    (invoke.workspace / "times.csv").write_text(TIMES)
    invoke("sweep", "trial.yaml", "--local", "--name", "trial")
    return invoke


def test_a_sweep_without_operators_has_no_published_times(swept: CommandLine) -> None:
    assert "No case has a published time in times.csv." in swept("report", "--published", "times.csv").stdout
    (row,) = swept.report("--published", "times.csv")
    assert not [name for name in row if name.startswith("published")]


@pytest.mark.parametrize(
    ("file", "error"),
    [
        ("other.csv", "column 'device' not found\n  --> other.csv:1\nhint: see docs/guides/operators.md"),
        ("none.csv", "--published: file 'none.csv' not found\nhint: name a CSV file"),
        ("", "--published: the name is empty\nhint: name a file"),
    ],
)
def test_a_wrong_file_is_an_error(file: str, error: str, swept: CommandLine) -> None:
    (swept.workspace / "other.csv").write_text("framework,time\npytorch,1\n")
    done = swept("report", "--published", file, expect=2)
    assert done.stderr.startswith(f"error: {error}")


@pytest.fixture
def measured(with_environments: Callable[..., CommandLine]) -> CommandLine:
    """The command line in a workspace with the file times.csv and a sweep of two matrix products, by PyTorch."""
    command_line = with_environments("pytorch")
    experiment = {
        "name": "trial",
        "parameters": {"framework": "pytorch", "task": "operator", "operator": "gemm"},
        "zip": [{"file": "sizes.csv"}],
        "measure": {"repetitions": 1, "retries": 0, "max_warmup_s": 0.1, "min_time_s": 0.1, "max_time_s": 0.2},
    }
    (command_line.workspace / "sizes.csv").write_text("sizes.m,sizes.n,sizes.k\n8,4,2\n8,4,3\n")
    (command_line.workspace / "trial.yaml").write_text(json.dumps(experiment))
    (command_line.workspace / "times.csv").write_text(TIMES)
    command_line("sweep", "trial.yaml", "--local", "--name", "trial")
    return command_line


@pytest.mark.framework
def test_an_operator_has_its_published_time(measured: CommandLine) -> None:
    rows = {json.loads(row["sizes"])["k"]: row for row in measured.report("--published", "times.csv")}
    assert {size: row["published_ms_Chip_Float"] for size, row in rows.items()} == {2: "0.25", 3: ""}
    assert "Published times of 1 of 2 cases are from times.csv." in (
        measured("report", "--published", "times.csv", env={"COLUMNS": "200"}).stdout
    )


@pytest.mark.framework
def test_ten_devices_have_a_column_each_in_the_csv_file_and_on_the_page(measured: CommandLine) -> None:
    header, gemm, _ = TIMES.split("\n")
    rows = [gemm.replace("Chip", f"Chip {index}").replace("0.25", f"{index}.125") for index in range(10)]
    (measured.workspace / "ten.csv").write_text("\n".join([header, *rows, ""]))
    measured("report", "--published", "ten.csv", "--csv", "cases.csv", "--html", "page.html")
    with (measured.workspace / "cases.csv").open(newline="", encoding="utf-8") as file:
        found = {json.loads(row["sizes"])["k"]: row for row in csv.DictReader(file)}
    names = [f"published_ms_Chip_{index}_Float" for index in range(10)]
    assert [name for name in found[2] if name.startswith("published")] == names
    assert [found[2][name] for name in names] == [f"{index}.125" for index in range(10)]
    assert {found[3][name] for name in names} == {""}
    page = (measured.workspace / "page.html").read_text("utf-8")
    assert [name for name in names if name not in page] == []
    titles = re.findall(r"published (Chip \d) Float \(ms\)", page)
    assert set(titles) == {f"Chip {index}" for index in range(10)}
    assert "Published times of 1 of 2 cases are from ten.csv." in page
