"""The rankings as LaTeX tables with booktabs, or Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.studies.best_case import best_cases
from hpcbench.report.export.markdown import in_markdown, markdown_table, one_line
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.lone_cases import lone_cases
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.text_columns import Column

_OF_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\symbol{96}",
    "[": "{[}",  # after \\, LaTeX would read [ and * as its arguments
    "*": "{*}",
}
_DASHES = re.compile("-(?=-)")  # LaTeX would join them to one dash


def latex(results: Results, top: int) -> str:
    r"""Return a LaTeX `table` per workload with the first `top` cases; it needs `\usepackage{booktabs}`."""
    tables = [_latex_table(work, columns, caption) for work, columns, caption in _tables(results, top)]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(tables)


def markdown(results: Results, top: int) -> str:
    """Return a Markdown table per workload with the first `top` cases."""
    return "\n".join(_markdown_table(work, columns, caption) for work, columns, caption in _tables(results, top))


FORMATS: dict[str, Callable[[Results, int], str]] = {"latex": latex, "markdown": markdown}


def _tables(results: Results, top: int) -> Iterator[tuple[Workload, list[Column], str]]:
    """Yield each workload, its columns and the sentence on its best case, empty if it has no measured quantity.

    Cases that are the only ones of their workloads share tables, without sentences.
    """
    compared, alone = lone_cases(results)
    found = best_cases(results, compared)
    for work in (*compared, *alone):
        caption = next((sentence(answer) for answer in found if answer.work is work), "")
        best = replace(work, cases=work.cases.head(top))
        yield work, columns_of(best, results.quantity, results.metrics), caption


def _latex_table(work: Workload, columns: list[Column], sentence_below: str) -> str:
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{_in_latex(f'{work.title}. {sentence_below}'.rstrip())}}}",
        rf"  \begin{{tabular}}{{{''.join('l' if column.is_text else 'r' for column in columns)}}}",
        r"    \toprule",
        "    " + " & ".join(_in_latex(column.header) for column in columns) + r" \\",
        r"    \midrule",
        *("    " + " & ".join(map(_in_latex, cells)) + r" \\" for cells in _rows(columns)),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _markdown_table(work: Workload, columns: list[Column], caption: str) -> str:
    lines = [
        f"**{in_markdown(work.title)}**",
        "",
        *([in_markdown(caption), ""] if caption else []),
        *markdown_table(columns),
    ]
    return "\n".join(lines) + "\n"


def _rows(columns: list[Column]) -> Iterator[tuple[str, ...]]:
    yield from zip(*(column.cells for column in columns), strict=True)


def _in_latex(text: str) -> str:
    """Return text with LaTeX's special characters escaped, and en dashes between the limits of intervals."""
    escaped = "".join(_OF_LATEX.get(letter, letter) for letter in one_line(text))
    return _DASHES.sub("-{}", escaped).replace(" - ", " -- ")
