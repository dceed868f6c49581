"""Which figures a report has: chosen from the shape of what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from hpcbench.analysis.cases.case_table import by_case, speaking
from hpcbench.analysis.cases.labels import varying
from hpcbench.analysis.cases.latency import AVERAGED_OVER, INFERENCE
from hpcbench.analysis.cases.quantities import PRICE, QUANTITIES, TIME, Quantity, price_of
from hpcbench.analysis.results import Results, Work
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.studies.scaling import STRONG, WEAK, Scaling, scaling
from hpcbench.core.samples import SAMPLES
from hpcbench.errors import UserError
from hpcbench.report.charts import cases, distribution, parallel, theme
from hpcbench.report.charts import scaling as scalings
from hpcbench.report.charts.components import Figure, case_names, numbered, title_of
from hpcbench.report.charts.descriptions import capital, described, lacking
from hpcbench.report.charts.encoding import Encoding, choose, parse
from hpcbench.report.charts.threads import figures_of_threads
from hpcbench.report.text.scaling_sentences import long_series, sentences

MOST_WORKS = 6  # kinds of work with a figure of their own
MOST_SERIES = len(theme.COLOURS)
MOST_CURVES = 5
FEWEST_SAMPLES = 20  # of a distribution


def figures_of(results: Results) -> list[Figure]:
    """The figures, in the order in which a reader wants them."""
    return [
        *_of_works(results),
        *figures_of_threads(results.thread_contexts),
        *_of_scaling(results),
        *_of_latency(results),
    ]


def chosen(results: Results, plot: str | None) -> list[Figure]:
    """The figures; where --plot says what to draw, that of each kind of work. Raises UserError for what is no plot."""
    if plot is None:
        return figures_of(results)
    quantities = {**QUANTITIES, PRICE.column: price_of(results.cases), **results.metrics}
    encoding = parse(plot, results.cases, quantities, results.quantity)
    known = encoding.quantity.column
    works = [work for work in results.works if work.cases[known].notna().any()]
    if not works:
        raise UserError(f"no case has a value of {known}", where="--plot y=", hint="see the columns of --csv")
    if len(works) > 1 and _told_apart(works, encoding):
        cases = results.cases[results.cases[known].notna()]
        works = [Work(f"{len(works)} kinds of work", "", cases, varying(cases, list(results.shown)))]
    return [_of_cases(work, encoding, f"plot-{number}") for number, work in enumerate(works, 1)]


def _told_apart(works: list[Work], encoding: Encoding) -> bool:
    """Whether no colour in no facet stands for two kinds of work, which must not be compared."""
    columns = [name for name in (encoding.colour, encoding.facet) if name]
    if not columns:
        return False
    stands = pd.concat([work.cases[columns].astype(str).drop_duplicates() for work in works])
    return not stands.duplicated().any()


def _of_works(results: Results) -> list[Figure]:
    """The quantity of the ranking, by the axes."""
    found = []
    for number, work in enumerate(results.works[:MOST_WORKS], 1):
        quantity = results.ranked_by(work)
        if len(work.cases) < 2 or work.cases[quantity.column].isna().all():
            continue
        name = numbered(f"{quantity.title} {work.short_title}", number)
        encoding = choose(work, quantity)
        found.append(_of_cases(work, encoding, name) if encoding else _of_many_axes(work, quantity, name))
    if found and len(results.works) > MOST_WORKS:
        left = f"{len(results.works) - MOST_WORKS} more kinds of work have no such figure: report them by themselves."
        found[-1] = replace(found[-1], caption=f"{found[-1].caption} {left}")
    return found


def _of_cases(work: Work, encoding: Encoding, name: str) -> Figure:
    quantity = encoding.quantity
    columns = encoding.columns or (work.shown if len(work.shown) == 1 else [])
    over = " and ".join(title_of(column) for column in columns) or "case"
    title = f"{capital(quantity.title)} by {over}" + (f": {work.short_title}" if work.short_title else "")
    caption = f"{work.title}. Medians over the repetitions with 95 % intervals."
    if encoding.heat:
        caption = f"{work.title}. Medians over the repetitions; the best cell has a frame."
    if len(work.cases) > cases.most(encoding):
        caption += f" The best {cases.most(encoding):,} of {len(work.cases):,} cases."
    caption += lacking(work, quantity)
    return Figure(name, title, caption, described(work, quantity), partial(cases.draw, work, encoding))


def _of_many_axes(work: Work, quantity: Quantity, name: str) -> Figure:
    title = f"{capital(quantity.title)} over {len(work.shown)} axes" + (
        f": {work.short_title}" if work.short_title else ""
    )
    caption = f"{work.title}. A line for each case, the best one thick."
    if len(work.shown) > parallel.MOST_AXES:
        caption += f" The first {parallel.MOST_AXES} of {len(work.shown)} axes."
    if len(work.cases) > parallel.MOST_CASES:
        caption += f" The best {parallel.MOST_CASES} of {len(work.cases):,} cases."
    drawn = partial(parallel.draw, work, work.shown, quantity)
    return Figure(name, title, caption, described(work, quantity), drawn)


def _of_scaling(results: Results) -> Iterator[Figure]:
    found = long_series(results)
    for kind in (STRONG, WEAK):
        for unit in ("CPUs", "GPUs"):
            series = [each for each in found if each.kind == kind and each.unit == unit]
            if series:
                drawn = [scaling(each, results.replicates) for each in series[:MOST_SERIES]]
                yield from _of_series(drawn, len(series))


def _of_series(series: list[Scaling], count: int) -> Iterator[Figure]:
    kind, unit = series[0].kind, series[0].unit
    said = [sentence for each in series for sentence in sentences(each)]
    known = f"over the case on the fewest {unit} of each series; grey is ideal."
    if any(each.fits for each in series):
        known += " Dashed: the Universal Scalability Law, or where it cannot be fitted Amdahl's or Gustafson's."
    if count > len(series):
        known += f" The first {len(series)} of {count} series."
    names = {"speedup": scalings.speedup, "efficiency": scalings.efficiency}
    for name, drawn in names.items():
        title, told = f"{kind.capitalize()} scaling: {name} by {unit}", f"{name.capitalize()} {known}"
        yield Figure(f"{kind}-scaling-{name}-{unit.lower()}", title, told, " ".join(said), partial(drawn, series))


def _of_latency(results: Results) -> Iterator[Figure]:
    """Of inference, which is a matter of single steps; the best cases of each kind of work, and the worst."""
    rows = by_case(results.repetitions)
    for number, work in enumerate(results.works[:MOST_WORKS], 1):
        if work.cases.iloc[0]["task"] != INFERENCE:
            continue
        single = work.cases[work.cases[AVERAGED_OVER].isna() & (work.cases["samples"] >= FEWEST_SAMPLES)]
        if single.empty:
            continue
        shown = pd.concat([single.head(MOST_CURVES - 1), single.iloc[MOST_CURVES - 1 :].tail(1)])
        samples: dict[str, list[Floats]] = {
            name: [row[SAMPLES] for row in speaking(rows[case["sweep"], case["case"]])]
            for name, (_, case) in zip(case_names(shown, work.shown), shown.iterrows(), strict=True)
        }
        title = "How long single steps take" + (f": {work.short_title}" if work.short_title else "")
        caption = f"{work.title}. Points: p50, p90 and p99 with 95 % intervals, where there are enough samples."
        if len(shown) < len(single):
            caption += f" The best {len(shown) - 1} of {len(single):,} cases, and the last."
        yield Figure(
            numbered(f"latency {work.short_title}", number),
            title,
            caption,
            described(work, TIME),
            partial(distribution.ecdf, samples),
        )
