"""hpcbench report: figures and tables of a real sweep of commands, and what is said to mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.integration

NOTE = "<i>50 %_&|"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A workspace with `good`, a sweep of four cases, and `bad`, of which none completes."""
    command_line = CommandLine(tmp_path_factory.mktemp("workspace"))
    sweeps: dict[str, Any] = {
        "good": {"command": "sleep 0.0{{ batch_size }}", "batch_size": [1, 2]},
        "bad": {"command": "exit 3", "batch_size": [1, 2]},
    }
    for name, parameters in sweeps.items():
        experiment = {
            "name": name,
            "parameters": {"framework": "command", "command": parameters.pop("command")},
            "user_parameters": ["note"],
            "matrix": {**parameters, "note": ["plain", NOTE]},
            "measure": {"repetitions": 1, "idle_node": "ignore", "retries": 0},
        }
        (command_line.workspace / f"{name}.yaml").write_text(json.dumps(experiment))
        command_line("sweep", f"{name}.yaml", "--local", "--no-fail-fast", "--name", name, expect=int(name == "bad"))
    return command_line


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_figures_are_written_in_each_format_and_told(measured: CommandLine, tmp_path: Path) -> None:
    done = measured("report", "good", "--figures", str(tmp_path / "plots"), "--figure-format", "svg, png,pdf,svg")
    written = files(tmp_path / "plots")
    assert {Path(name).suffix for name in written} == {".svg", ".png", ".pdf"}
    for name in written:
        assert done.stderr.count(f"wrote {tmp_path / 'plots' / name}\n") == 1
    assert "good: commands" in done.stdout, "the terminal says what it says without figures"


def test_figures_are_svg_unless_it_is_said(measured: CommandLine, tmp_path: Path) -> None:
    measured("report", "good", "--figures", str(tmp_path), "--theme", "paper")
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg"}
    assert "Serif" in next(tmp_path.iterdir()).read_text()


def test_a_plot_is_drawn_instead_of_what_is_chosen(measured: CommandLine, tmp_path: Path) -> None:
    plot = "x=batch_size,y=time,color=note"
    measured("report", "good", "--figures", str(tmp_path), "--plot", plot)
    assert files(tmp_path) == ["plot-1.svg"]
    text = (tmp_path / "plot-1.svg").read_text()
    for words in ("Wall time by batch size and note", "wall time (ms)", "batch size", "&lt;i&gt;50 %_&amp;|"):
        assert words in text


def test_tables_of_both_kinds_are_all_that_is_printed(measured: CommandLine) -> None:
    latex = measured("report", "good", "--tables", "latex").stdout
    assert latex.startswith("% needs \\usepackage{booktabs}\n\\begin{table}")
    assert latex.endswith("\\end{table}\n")
    assert r"\textless{}i\textgreater{}50 \%\_\&\textbar{}" in latex
    markdown = measured("report", "good", "--tables", "markdown", "--top", "2").stdout
    assert markdown.startswith("**good: ")
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(rows) == 2 * (2 + 2), "a table for each note, which may be other work"


def test_tables_and_figures_and_csv_go_together(measured: CommandLine, tmp_path: Path) -> None:
    done = measured(
        "report", "good", "--tables", "markdown", "--csv", str(tmp_path / "t.csv"), "--figures", str(tmp_path / "plots")
    )
    assert done.stdout.startswith("**good")
    assert f"wrote 4 rows to {tmp_path / 't.csv'}" in done.stderr
    assert files(tmp_path / "plots")


def test_a_page_may_be_in_the_folder_of_the_figures(measured: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "plots"
    for file in (folder / "page.html", folder.parent / "t.csv"):
        measured("report", "good", "--figures", str(folder), "-o", str(file))
        assert file.exists()
    told = measured("report", "good", "--figures", str(folder), "-o", str(tmp_path / "other" / "t.csv"), expect=2)
    assert "cannot be written: No such file or directory" in told.stderr


def test_csv_on_stdout_is_nothing_else(measured: CommandLine, tmp_path: Path) -> None:
    done = measured("report", "good", "--csv", "-", "--figures", str(tmp_path))
    assert done.stdout.startswith("sweep,case,status,")
    assert done.stdout.count("\n") == 1 + 4


def test_of_nothing_that_was_measured_nothing_is_drawn(measured: CommandLine, tmp_path: Path) -> None:
    done = measured("report", "bad", "--figures", str(tmp_path / "plots"), "--tables", "latex", expect=1)
    assert files(tmp_path / "plots") == []
    assert "no figures:" in done.stderr
    assert "no case was measured" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["--plot", "x=batch_size"], "--plot requires --figures or --html", "add --figures DIR or --html FILE"),
        (["--figures", "plots", "--figure-format", "svg,pgn"], "unknown format 'pgn'", "png"),
        (["--figures", "plots", "--figure-format", ""], "unknown format ''", ""),
        (["--figures", "plots", "--theme", "dark"], "'dark' is not one of 'screen', 'paper'", ""),
        (["--figures", "good.yaml"], "directory 'good.yaml' cannot be created", ""),
        (["--figures", "plots", "--plot", "x=batchsize"], "unknown column 'batchsize'", "batch_size"),
        (["--figures", "plots", "--plot", "y=throughput"], "no case has a value of throughput_items_per_s", "--csv"),
        (
            ["--figures", "plots", "--plot", "batch_size"],
            "'batch_size' is not one of x=COLUMN",
            "as in: --plot x=nodes",
        ),
        (["--figure-format", "pdf"], "--figure-format requires --figures", "add --figures DIR"),
        (["--theme", "screen", "--html", "plots"], "--theme requires --figures", "add --figures DIR"),
        (
            ["--rules", "--tables", "latex"],
            "--rules cannot be used with --tables latex",
            "use one of them",
        ),
        (["--figures", ""], "--figures: the name is empty", "name a dir"),
        (["--html", ""], "--html: the name is empty", "name a file"),
        (["--csv", ""], "--csv: the name is empty", "name a file"),
        (["-o", "all.xlsx"], "unknown suffix '.xlsx'", "use one of: .json, .csv, .parquet, .html, .md, .tex"),
        (["-o", "all"], "the name has no suffix", "use one of: .json"),
        (["--json", "--csv", "-"], "--csv - cannot be used with --json", "use one of them, or write to files"),
        (["--parquet", "-"], "--parquet cannot write to stdout", "name a file"),
        (["--tables", "html"], "'html' is not one of 'latex', 'markdown'", ""),
        (["--tables", "latex", "--csv", "-"], "--csv - cannot be used with --tables latex", ""),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(
    measured: CommandLine, arguments: list[str], said: str, hint: str
) -> None:
    done = measured("report", "good", *arguments, expect=2)
    assert said in done.stderr
    assert hint in done.stderr
    assert not (measured.workspace / "plots").is_dir() or not files(measured.workspace / "plots")


def test_json_has_the_results_and_nothing_else_goes_to_stdout(measured: CommandLine) -> None:
    document = json.loads(measured("report", "--json", "good").stdout)
    (sweep,) = document["sweeps"]
    assert (sweep["sweep"], sweep["runs"], sweep["usage"]["attempts"]) == ("good", {"completed": 4}, 4)
    assert document["metric"]["column"] == "throughput_items_per_s"
    keys = {(each["sweep"], each["case"]) for each in document["cases"]}
    assert len(keys) == 4
    for work in document["workloads"]:
        assert work["metric"] == {"column": "time_median_s", "title": "wall time", "unit": "s", "more_is_better": False}
        assert {(each["sweep"], each["case"]) for each in work["cases"]} <= keys
    best = document["best_cases"][0]
    value = next(case["time_median_s"] for case in document["cases"] if case["case"] == best["case"])
    assert (best["value"], best["metric"]["column"]) == (value, "time_median_s")
    assert best["label"] in best["text"]
    assert [rule["rule"] for rule in document["rules"]] == [*range(1, 13)]
    assert {rule["state"] for rule in document["rules"]} <= {"kept", "violated", "not applicable"}
    assert all(bool(rule["violations"]) == (rule["state"] == "violated") for rule in document["rules"])
    assert document["failures"] == []


def test_json_has_the_failures(measured: CommandLine) -> None:
    document = json.loads(measured("report", "bad", "--json", expect=1).stdout)
    assert document["best_cases"] == []
    assert {each["status"] for each in document["failures"]} == {"failed"}


def test_the_suffix_of_a_file_is_its_format(measured: CommandLine, tmp_path: Path) -> None:
    names = ["all.json", "all.csv", "all.parquet", "all.html", "all.md", "all.TEX"]
    asked = [word for name in names for word in ("-o", str(tmp_path / name))]
    done = measured("report", "good", *asked)
    assert done.stdout.startswith("good on laptop"), "the terminal says what it says without files"
    assert f"wrote 4 rows to {tmp_path / 'all.csv'}" in done.stderr
    assert f"wrote {tmp_path / 'all.html'}" in done.stderr
    begin = {name: (tmp_path / name).read_bytes()[:9] for name in names}
    assert begin["all.json"].startswith(b"{")
    assert begin["all.csv"].startswith(b"sweep,")
    assert begin["all.parquet"].startswith(b"PAR1")
    assert begin["all.html"] == b"<!doctype"
    assert begin["all.md"].startswith(b"**")
    assert begin["all.TEX"].startswith(b"% needs")


def test_the_level_of_a_table_holds_for_its_suffix(measured: CommandLine, tmp_path: Path) -> None:
    measured("report", "good", "-o", str(tmp_path / "all.csv"), "--level", "measurement")
    assert (tmp_path / "all.csv").read_text().splitlines()[0].startswith("sweep,case,")
    told = measured("report", "good", "-o", str(tmp_path / "all.json"), "--level", "measurement", expect=2).stderr
    assert "--level measurement requires --csv or --parquet" in told
