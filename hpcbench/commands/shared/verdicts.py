"""Compare two sweeps, show the verdicts, and derive the exit status: for compare and gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import click
import pandas as pd

from hpcbench.analysis.cases.labels import label, telling_apart
from hpcbench.analysis.stats.equivalence import MARGIN
from hpcbench.analysis.stats.two_samples import MIN_REPETITIONS
from hpcbench.analysis.studies import comparison as studies
from hpcbench.analysis.studies.comparison import Comparison
from hpcbench.collect.table import identifying_columns, metric_columns, repetition_table
from hpcbench.commands.options.outputs import (
    Output,
    file_option,
    json_option,
    output_option,
    requested,
    write_outputs,
)
from hpcbench.commands.shared.context import Command
from hpcbench.core.record import Record
from hpcbench.core.samples import PROBED
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.comparison_json import comparison_json
from hpcbench.report.export.comparison_junit import comparison_junit
from hpcbench.report.export.comparison_markdown import comparison_markdown
from hpcbench.report.export.csv_parquet import write_csv, write_parquet
from hpcbench.report.export.junit import Test
from hpcbench.report.load.metrics import quantities_of
from hpcbench.report.load.printed_units import mixed_units
from hpcbench.report.terminal.comparison import Metrics, print_comparison
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.console import err, out
from hpcbench.util.exit_status import FAILURE, INCONCLUSIVE, SUCCESS
from hpcbench.util.text import plural

FORMATS = ("json", "csv", "parquet", "md")
RECOMMENDED_REPETITIONS = 10  # enough for a verdict even if interference makes half of the runs unusable
_ON_INCONCLUSIVE = {"fail": FAILURE, "pass": SUCCESS}


@dataclass(frozen=True)
class Compared:
    """Two sweeps compared, the columns that identify cases, and the metrics of commands by column."""

    found: Comparison
    describing: list[str]
    metrics: Metrics
    accepted: tuple[Test, ...] = ()  # the conditions of `accept`, in JUnit

    def status(self, inconclusive: int) -> int:
        """Return the exit status; `inconclusive` is the one of an inconclusive comparison."""
        verdicts = set(self.found.rows["verdict"])
        if verdicts & set(studies.FAILING):
            return FAILURE
        return inconclusive if verdicts & set(studies.UNDECIDED) or not self.found.compared else SUCCESS


@dataclass(frozen=True)
class Shown:
    """How a comparison is shown: at most `top` rows, and these documents."""

    top: int
    outputs: list[Output]

    @classmethod
    def of(
        cls, top: int, as_json: bool, as_markdown: bool, junit_file: str | None, outputs: tuple[tuple[str, str], ...]
    ) -> Shown:
        """Return it from the values of the options. Raise UserError for several documents on standard output."""
        flags = {"json": as_json, "markdown": as_markdown}
        return cls(top, requested(flags, {"junit": junit_file}, outputs))


def verdict_options(command: Command) -> Command:
    """Add the options for rule, exit status and documents of a comparison to a command."""
    options = (
        click.option(
            "--margin",
            metavar="PERCENT",
            callback=_fraction,
            default=f"{MARGIN:.0%}",
            show_default=True,
            help="Count differences up to PERCENT as equal, e.g. 2% or 0.02.",
        ),
        on_inconclusive_option(),
        click.option("--top", type=click.IntRange(min=1), default=40, show_default=True, help="Print at most N rows."),
        click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown for a comment on a pull request."),
        json_option(),
        file_option("junit", "JUnit XML"),
        output_option(*FORMATS),
    )
    for option in reversed(options):  # so that they have the order of decorators
        command = option(command)
    return command


def on_inconclusive_option() -> Callable[[Command], Command]:
    """Return the option `--on-inconclusive`; the parameter `inconclusive` is the exit status to return."""

    def status(_: click.Context, __: click.Parameter, value: str | None) -> int:
        return _ON_INCONCLUSIVE[value] if value else INCONCLUSIVE

    return click.option(
        "--on-inconclusive",
        "inconclusive",
        type=click.Choice(list(_ON_INCONCLUSIVE)),
        callback=status,
        help=f"Exit with 1 (fail) or 0 (pass) if the result is inconclusive.  [default: exit with {INCONCLUSIVE}]",
    )


def _fraction(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return 0.02 for `2%` and for `0.02`."""
    try:
        number = float(value.rstrip("% "))
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a number; use e.g. 2% or 0.02") from None
    part = number / 100 if "%" in value else number
    if not 0 <= part < 1:
        raise click.BadParameter(f"'{value}' is not between 0 and 100 %; use e.g. 2% or 0.02")
    return part


def how_to_repeat(paths: SweepPaths) -> str:
    """Return how to measure runs with interference again."""
    if paths.archive:
        return f"measure {paths.archive} again on an idle machine"
    if load(paths).tuning is not None:
        return "search again: hpcbench tune"
    return f"measure again: hpcbench resume {paths.name} --interference"


def compared(base: list[Record], new: list[Record], margin: float, again: tuple[str, str] = ("", "")) -> Compared:
    """Return the comparison of the records of two sweeps; `again` says how to repeat the runs of each."""
    tables = repetition_table(base), repetition_table(new)
    metrics = quantities_of(metric_columns([*base, *new]))
    describing = identifying_columns(pd.concat(tables))
    found = studies.compare(*tables, margin, metrics.values(), ["experiment", PROBED, *describing], again)
    warnings = [*found.warnings, *mixed_units([*base, *new])]
    return Compared(found._replace(warnings=warnings), describing, metrics)


def nothing_compared(new: list[Record], base: str, margin: float) -> Compared:
    """Return the comparison of a sweep with a baseline `base` that did not exist, which has no rows."""
    made = compared(new, new, margin)
    warning = f"{base} did not exist: nothing was compared"
    warnings = [warning, *mixed_units(new)]
    return replace(made, found=made.found._replace(base=base, rows=made.found.rows.head(0), warnings=warnings))


def few_runs(records: list[Record], baseline: str) -> list[str]:
    """Return a warning if a case of a new baseline has too few usable runs for a verdict of faster or slower."""
    made = compared(records, records, MARGIN)
    rows = made.found.rows
    few = rows[rows["ratio"].notna() & (rows["new_runs"] < MIN_REPETITIONS)].sort_values("new_runs", kind="stable")
    if few.empty:
        return []
    fewest, cases = few.iloc[0], few["case"].nunique()
    runs = plural(int(fewest["new_runs"]), "usable run") + (f" ({cases} such cases)" if cases > 1 else "")
    planned = sum(record.case_id == fewest["case"] for record in records)
    enough = max(RECOMMENDED_REPETITIONS, 2 * planned)
    shown = telling_apart(rows, made.describing)
    what = f"{label(fewest, shown) if shown else 'the only case'} has {runs}"
    again = f"delete {baseline}, then repeat the command with --set measure.repetitions={enough}"
    return [f"{what}, but a verdict of faster or slower needs {MIN_REPETITIONS}; to measure more: {again}"]


def show_verdicts(made: Compared, shown: Shown, inconclusive: int) -> int:
    """Print the comparison or its documents; return the exit status."""
    status = made.status(inconclusive)
    if not any(output.is_stdout for output in shown.outputs):
        print_comparison(made.found, made.describing, made.metrics, shown.top, out)
    write_documents(made, shown, inconclusive)
    if not made.found.compared:
        err.print("no case could be compared")
    if status == INCONCLUSIVE:
        err.print(f"inconclusive: exit status {INCONCLUSIVE}; to change it: --on-inconclusive fail or pass")
    return status


def write_documents(made: Compared, shown: Shown, inconclusive: int) -> None:
    """Write the documents of a comparison. In JUnit, verdicts that lead to exit status 1 are failures."""
    found, describing, metrics = made.found, made.describing, made.metrics
    failing = {*studies.FAILING, *(studies.UNDECIDED if inconclusive == FAILURE else ())}

    def write_markdown(file: str) -> None:
        write_text(comparison_markdown(found, describing, metrics, shown.top), file)

    writers = {
        "json": lambda file: write_text(comparison_json(found), file),
        "csv": lambda file: write_csv(found.rows, file),
        "parquet": lambda file: write_parquet(found.rows, file),
        "md": write_markdown,
        "markdown": write_markdown,
        "junit": lambda file: write_text(comparison_junit(found, describing, metrics, failing, made.accepted), file),
    }
    write_outputs(shown.outputs, writers, dict.fromkeys(writers, plural(len(found.rows), "comparison")))
