"""Tables for papers: what the terminal says, and nothing that LaTeX or Markdown would take for a command."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from hpcbench.analysis.cases.quantities import LATENCIES
from hpcbench.config.names import USER_PARAMETER
from hpcbench.report.export.latex_markdown import _in_latex, latex, markdown
from hpcbench.report.export.markdown import in_markdown
from hpcbench.report.terminal.results import print_report
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.text_columns import Column
from tests.report.synthetic_results import HOSTILE, case, results, shape


def columns_shown(name: str) -> list[Column]:
    found = shape(name)
    return columns_of(found.workloads[0], found.quantity, found.metrics)


def rows_of_latex(text: str) -> list[list[str]]:
    return [line[4:].removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r" \\")]


def rows_of_markdown(text: str) -> list[list[str]]:
    return [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ") and "---" not in line]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"50 % of $x_1 & y#2", r"50 \% of \$x\_1 \& y\#2"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("a^b~c", r"a\textasciicircum{}b\textasciitilde{}c"),
        ("<i>|", r"\textless{}i\textgreater{}\textbar{}"),
        ("[1] x", "{[}1] x"),
        ("*", "{*}"),
        ("1.2 ms - 1.4 ms", "1.2 ms -- 1.4 ms"),
        ("./bench --size 1 ---", r"./bench -{}-size 1 -{}-{}-"),
        ('say "no" `x`', r"say \symbol{34}no\symbol{34} \symbol{96}x\symbol{96}"),
        ("two\nlines\\\\", r"two lines\textbackslash{}\textbackslash{}"),
        ("a\x1b[31m\u202eb", "a?{[}31m?b"),
        ("größer 漢", "größer 漢"),
    ],
)
def test_what_latex_would_take_for_a_command_is_text(text: str, written: str) -> None:
    assert _in_latex(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a|b", r"a\|b"),
        ("<script>*x*_y_</script>", r"\<script\>\*x\*\_y\_\</script\>"),
        ("[a](http://x)", r"\[a\]\(http://x\)"),
        ("`x` \\|", r"\`x\` \\\|"),
        ("&amp; $a$", r"\&amp; \$a\$"),
        ("two\nlines | more", r"two lines \| more"),
        ("a\x1b[31m", r"a?\[31m"),
    ],
)
def test_what_markdown_would_take_for_a_mark_is_text(text: str, written: str) -> None:
    assert in_markdown(text) == written


@pytest.mark.parametrize("name", ["frameworks", "commands", "inference", "heat"])
def test_both_show_what_the_terminal_shows(name: str) -> None:
    columns = columns_shown(name)
    cells = zip(*(column.cells for column in columns), strict=True)
    expected = [[column.header for column in columns], *map(list, cells)]
    assert rows_of_latex(latex(shape(name), 40)) == [[_in_latex(cell) for cell in row] for row in expected]
    assert rows_of_markdown(markdown(shape(name), 40)) == [[in_markdown(cell) for cell in row] for row in expected]


@pytest.mark.parametrize(("name", "count"), [("two frameworks", 1), ("eight workloads", 6)])
def test_both_say_what_the_terminal_says(name: str, count: int) -> None:
    file = io.StringIO()
    print_report(shape(name), 40, Console(file=file, width=1000))
    sentences = re.findall(r"(?:No case is|[\w=]+ \(\S+ samples/s\) is) [^\n]*\.", file.getvalue())
    assert len(sentences) == count
    as_latex, as_markdown = latex(shape(name), 40), markdown(shape(name), 40)
    for sentence in sentences:
        assert _in_latex(sentence) in as_latex
        assert in_markdown(sentence) in as_markdown


def test_a_latex_table_is_one_of_booktabs() -> None:
    text = latex(shape("frameworks"), 2)
    assert text.startswith("% needs \\usepackage{booktabs}\n\\begin{table}\n  \\centering\n  \\caption{")
    assert [line.strip() for line in text.splitlines() if "rule" in line] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"\begin{tabular}{lrrrrrr}" in text
    assert text.endswith("  \\end{tabular}\n\\end{table}\n")
    assert len(rows_of_latex(text)) == 1 + 2


def test_a_markdown_table_has_its_numbers_on_the_right() -> None:
    text = markdown(shape("frameworks"), 2)
    assert "\n| framework | step time \\(ms\\) | 95 % CI |" in text
    assert "\n| --- | ---: | ---: |" in text
    assert len(rows_of_markdown(text)) == 1 + 2


def test_each_kind_of_work_has_a_table() -> None:
    found = shape("eight workloads")
    assert latex(found, 40).count(r"\begin{table}") == latex(found, 40).count(r"\end{table}") == 8
    assert markdown(found, 40).count("---: |\n") == 8


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_break_no_table(name: str) -> None:
    found = results(*(case(0.1 * n, **{USER_PARAMETER + name: f"{name}{n}"}) for n in (1, 2)), repetitions=1)
    text = latex(found, 40)
    assert {len(row) for row in rows_of_latex(text)} == {len(rows_of_latex(text)[0])}
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    lines = [line for line in markdown(found, 40).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    for character in "\x1b\u202e\x00":
        assert character not in text + "".join(lines)


def test_without_a_measured_case_there_is_no_table() -> None:
    assert r"\begin" not in latex(shape("all failed"), 40)
    assert markdown(shape("all failed"), 40) == ""


def test_a_caption_without_an_answer_ends_with_its_title() -> None:
    found = results(case(0.1), case(0.2, framework="jax"), quantity=LATENCIES[-1])  # of which there are too few samples
    assert re.search(r"\\caption\{mlp .* parameters\.\}\n", latex(found, 40))


def test_workloads_with_one_case_share_a_table() -> None:
    found = results(*(case(0.1, model=f"timm/net{n}", parameter_count=n) for n in (1, 2, 3)), repetitions=1)
    assert markdown(found, 40).count("---: |\n") == latex(found, 40).count(r"\begin{table}") == 1
    assert [row[0] for row in rows_of_markdown(markdown(found, 2))] == ["model", "timm/net1", "timm/net2"]
    assert "no other case" not in latex(found, 40)
