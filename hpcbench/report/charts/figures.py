"""The figures of a report, by the available measurements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from hpcbench.analysis.cases.case_table import by_case, valid_rows
from hpcbench.analysis.cases.labels import varying
from hpcbench.analysis.cases.latency import AVERAGED_OVER
from hpcbench.analysis.cases.quantities import PRICE, QUANTITIES, TIME, Quantity, as_reported, price_of
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.studies.scaling import STRONG, WEAK, Scaling, scaling
from hpcbench.analysis.studies.threads import contexts_of
from hpcbench.core.frameworks import FORWARD_TASKS
from hpcbench.core.samples import SAMPLES
from hpcbench.errors import UserError
from hpcbench.report.charts import cases, distribution, parallel, theme
from hpcbench.report.charts import scaling as scalings
from hpcbench.report.charts.components import Figure, case_names, numbered, title_of
from hpcbench.report.charts.descriptions import capital, described, lacking
from hpcbench.report.charts.encoding import Encoding, choose, parse
from hpcbench.report.charts.threads import figures_of_threads
from hpcbench.report.text.scaling_sentences import long_series, sentences

MAX_WORKS = 6  # workloads with their own figure
MAX_SERIES = len(theme.COLOURS)
MAX_CURVES = 5
MIN_SAMPLES = 20  # measurements of a distribution


def figures_of(results: Results) -> list[Figure]:
    """Return the default figures of a report, in the order of the report."""
    return [
        *_of_works(results),
        *figures_of_threads(contexts_of(results)),
        *_of_scaling(results),
        *_of_latency(results),
    ]


def chosen(results: Results, plot: str | None) -> list[Figure]:
    """Return the default figures, or the figure of --plot per workload. Raise UserError if --plot is not valid."""
    if plot is None:
        return figures_of(results)
    quantities = {**QUANTITIES, PRICE.column: price_of(results.cases), **results.metrics}
    encoding = parse(plot, results.cases, quantities, results.quantity)
    known = encoding.quantity.column
    workloads = [work for work in results.workloads if work.cases[known].notna().any()]
    if not workloads:
        raise UserError(f"no case has a value of {known}", where="--plot y=", hint="see the columns of --csv")
    if len(workloads) > 1 and _distinguishable(workloads, encoding):
        cases = results.cases[results.cases[known].notna()]
        workloads = [Workload(f"{len(workloads)} workloads", "", cases, varying(cases, list(results.shown)))]
    return [
        _of_cases(work, replace(encoding, quantity=as_reported(encoding.quantity, work.cases)), f"plot-{number}")
        for number, work in enumerate(workloads, 1)
    ]


def _distinguishable(workloads: list[Workload], encoding: Encoding) -> bool:
    """Return whether each combination of colour and facet has one workload only, since others are not comparable."""
    columns = [name for name in (encoding.colour, encoding.facet) if name]
    if not columns:
        return False
    stands = pd.concat([work.cases[columns].astype(str).drop_duplicates() for work in workloads])
    return not stands.duplicated().any()


def _of_works(results: Results) -> list[Figure]:
    """Return the figures of the ranking quantity over the axes, one per workload, at most MAX_WORKS."""
    found = []
    for number, work in enumerate(results.workloads[:MAX_WORKS], 1):
        quantity = results.ranked_by(work)
        if len(work.cases) < 2 or work.cases[quantity.column].isna().all():
            continue
        name = numbered(f"{quantity.title} {work.short_title}", number)
        encoding = choose(work, quantity)
        found.append(_of_cases(work, encoding, name) if encoding else _of_many_axes(work, quantity, name))
    if found and len(results.workloads) > MAX_WORKS:
        left = f"{len(results.workloads) - MAX_WORKS} more workloads have no such figure: report them separately."
        found[-1] = replace(found[-1], caption=f"{found[-1].caption} {left}")
    return found


def _of_cases(work: Workload, encoding: Encoding, name: str) -> Figure:
    quantity = encoding.quantity
    columns = encoding.columns or (work.shown if len(work.shown) == 1 else [])
    over = " and ".join(title_of(column) for column in columns) or "case"
    title = f"{capital(quantity.title)} by {over}" + (f": {work.short_title}" if work.short_title else "")
    caption = f"{work.title}. Medians over the runs with 95 % CI."
    if encoding.heat:
        caption = f"{work.title}. Medians over the runs; the best cell has a frame."
    if len(work.cases) > cases.most(encoding):
        caption += f" The figure shows the best {cases.most(encoding):,} of {len(work.cases):,} cases."
    caption += lacking(work, quantity)
    return Figure(name, title, caption, described(work, quantity), partial(cases.draw, work, encoding))


def _of_many_axes(work: Workload, quantity: Quantity, name: str) -> Figure:
    title = f"{capital(quantity.title)} over {len(work.shown)} axes" + (
        f": {work.short_title}" if work.short_title else ""
    )
    caption = f"{work.title}. Each line is a case; the best one is thick."
    if len(work.shown) > parallel.MAX_AXES:
        caption += f" The figure shows the first {parallel.MAX_AXES} of {len(work.shown)} axes."
    if len(work.cases) > parallel.MAX_CASES:
        caption += f" The figure shows the best {parallel.MAX_CASES} of {len(work.cases):,} cases."
    drawn = partial(parallel.draw, work, work.shown, quantity)
    return Figure(name, title, caption, described(work, quantity), drawn)


def _of_scaling(results: Results) -> Iterator[Figure]:
    found = long_series(results)
    for kind in (STRONG, WEAK):
        for unit in ("CPUs", "GPUs"):
            series = [each for each in found if each.kind == kind and each.unit == unit]
            if series:
                drawn = [scaling(each, results.replicates) for each in series[:MAX_SERIES]]
                yield from _of_series(drawn, len(series))


def _of_series(series: list[Scaling], count: int) -> Iterator[Figure]:
    kind, unit = series[0].kind, series[0].unit
    laws = [sentence for each in series for sentence in sentences(each)]
    known = f"over the case with the fewest {unit} of each series; the grey line is ideal scaling."
    if any(each.fits for each in series):
        known += " Dashed: the Universal Scalability Law, or, if it cannot be fitted, Amdahl's or Gustafson's."
    if count > len(series):
        known += f" The figure shows the first {len(series)} of {count} series."
    names = {"speedup": scalings.speedup, "efficiency": scalings.efficiency}
    for name, drawn in names.items():
        title, caption = f"{kind.capitalize()} scaling: {name} by {unit}", f"{name.capitalize()} {known}"
        yield Figure(f"{kind}-scaling-{name}-{unit.lower()}", title, caption, " ".join(laws), partial(drawn, series))


def _of_latency(results: Results) -> Iterator[Figure]:
    """Yield a figure per workload of inference: the step times of the best cases and the last one."""
    rows = by_case(results.repetitions)
    for number, work in enumerate(results.workloads[:MAX_WORKS], 1):
        if work.cases.iloc[0]["task"] not in FORWARD_TASKS:
            continue
        single = work.cases[work.cases[AVERAGED_OVER].isna() & (work.cases["measurements"] >= MIN_SAMPLES)]
        if single.empty:
            continue
        shown = pd.concat([single.head(MAX_CURVES - 1), single.iloc[MAX_CURVES - 1 :].tail(1)])
        samples: dict[str, list[Floats]] = {
            name: [row[SAMPLES] for row in valid_rows(rows[case["sweep"], case["case"]])]
            for name, (_, case) in zip(case_names(shown, work.shown), shown.iterrows(), strict=True)
        }
        title = "Step times" + (f": {work.short_title}" if work.short_title else "")
        caption = f"{work.title}. Points: p50, p90 and p99 with 95 % CI, if there are enough measurements."
        if len(shown) < len(single):
            caption += f" The figure shows the best {len(shown) - 1} of {len(single):,} cases, and the last one."
        yield Figure(
            numbered(f"latency {work.short_title}", number),
            title,
            caption,
            described(work, TIME),
            partial(distribution.ecdf, samples),
        )
