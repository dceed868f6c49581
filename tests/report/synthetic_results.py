"""Results of made-up runs, of whatever shape a test asks for; none of their numbers was measured."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.cost import add_costs
from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.pareto import pareto
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.results import Results
from hpcbench.config.metrics import PREFIX
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.report.charts.components import Figure
from hpcbench.report.charts.figures import chosen
from hpcbench.report.charts.theme import AS_FILE, PlotSize
from hpcbench.report.export.figure_files import specification
from tests.analysis.conftest import MEASURED, USUAL, WHOLE

PARAMETERS = (
    *("sweep", "framework", "model", "task", "strategy", "device", "dtype", "execution", "batch_size", "nodes"),
    *("tasks_per_node", "gpus_per_task", "cpus_per_task", "intra_op_threads", "inter_op_threads"),
)
Case = dict[str, Any]
METRIC = Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)


def case(time_s: float, **changes: Any) -> Case:
    return {"time_s": time_s, **changes}


def threads(count: int, time_s: float = 0.03, **changes: Any) -> Case:
    """Whose work is shared by so many threads."""
    own = {"intra_op_threads": count, "effective_intra_op_threads": count, "cpus_per_task": 16}
    return case(time_s / count**0.8, **own, **changes)


def results(
    *cases: Case,
    repetitions: int = 3,
    samples: int = 20,
    spread: float = 0.02,
    between: float | None = None,
    quantity: Quantity = THROUGHPUT,
    metrics: Sequence[Quantity] = (),
) -> Results:
    """Of cases with log-normal times around `time_s`, which `case` makes: between runs they spread as within
    them, or by `between`. One with a status of its own has failed."""
    generator = np.random.default_rng(1)
    between = spread if between is None else between
    rows = []
    for place, (time_s, changes) in enumerate(({**each}.pop("time_s"), each) for each in cases):
        for number in range(repetitions):
            times = time_s * generator.lognormal(0, between) * generator.lognormal(0, spread, samples)
            own = {"case": f"case-{place}", "case_index": place, "run": number, "times_s": times}
            rows.append({**USUAL, "execution": "eager", "inter_op_threads": None, **own, **changes})
            if "status" in changes:
                rows[-1].update({**dict.fromkeys(MEASURED), "times_s": np.array(()), "error": "it broke"})
    frame = pd.DataFrame(rows).drop(columns="time_s").astype(dict.fromkeys(WHOLE, "Int64"))
    grouped = by_case(frame)
    replicates = Replicates(grouped)
    table = add_costs(case_table(frame, grouped), frame)
    table = ranked(add_speedup(table.assign(**pareto(table)), replicates), quantity)
    shown = telling_apart(table, [*PARAMETERS, *(name for name in table if name.startswith(USER_PARAMETER))])
    return Results(frame, table, quantity, shown, replicates, metrics={each.column: each for each in metrics})


OF_COMMAND: Case = {
    **dict.fromkeys(("model", "task", "dtype", "math_mode", "parameter_count", "flops_per_item", "items_per_step")),
    "framework": "command",
    "command": "./bench",
}


def commands(*rates: float, **changes: Any) -> Results:
    """Of a command whose metric is a rate."""
    assert METRIC.column.startswith(PREFIX)
    cases = [
        case(0.1, **{**OF_COMMAND, "batch_size": 2**place, METRIC.column: rate, **changes})
        for place, rate in enumerate(rates)
    ]
    return results(*cases, quantity=METRIC, metrics=[METRIC])


HOSTILE = (
    "n" * 200,
    "b\"q'uote\\",
    "<b>html</b>&amp;<script>alert(1)</script>",
    "日本語の名前",
    "emoji 🚀",
    "x.y[0]",
    "${jndi} {{a}} %s",
    "\u202eabc\x1b[31m",
    "line\nbreak",
    "",
)


def hostile() -> Results:
    """A tag with such a name, and such values."""
    tag = USER_PARAMETER + "a.b[\"c'] \\ <i>"
    return results(*(case(0.01 * (place + 1), **{tag: name}) for place, name in enumerate(HOSTILE)))


def hostile_lines() -> Results:
    user_parameters = {USER_PARAMETER + "a.b[\"c'] \\ <i>": HOSTILE[:4], USER_PARAMETER + "n" * 200: (1, 2)}
    (one, names), (two, numbers) = user_parameters.items()
    return results(
        *(
            threads(count, 0.01 * (place + 1) * number, **{one: name, two: number})
            for place, name in enumerate(names)
            for number in numbers
            for count in (1, 2)
        )
    )


def _frameworks() -> Results:
    return results(*(case(0.03 + 0.01 * place, framework=name) for place, name in enumerate(FRAMEWORKS)))


def _works() -> Results:
    return results(*(threads(count, model=f"model{n}", parameter_count=n) for n in range(8) for count in (1, 2)))


def _inference() -> Results:
    rows = [(place, name, count) for place, name in enumerate(list(FRAMEWORKS)[:3]) for count in (1, 4)]
    cases = [threads(count, 0.03 + 0.01 * place, framework=name, task="inference") for place, name, count in rows]
    return results(*cases, repetitions=2, samples=60)


def _gpus() -> Results:
    rows = [(name, count) for name in ("pytorch", "jax") for count in (1, 2, 4)]
    own = {"device": "gpu", "gpus_per_task": 1, "items_per_step": 64}
    cases = [
        case(0.1 / count**0.9, framework=name, tasks_per_node=count, batch_size=64 // count, **own)
        for name, count in rows
    ]
    return results(*cases)


def _weak() -> Results:
    rows = [(name, nodes) for name in ("ddp", "fsdp") for nodes in (1, 2, 4, 8)]
    return results(
        *(case(0.05 * nodes**0.1, strategy=name, nodes=nodes, items_per_step=32 * nodes) for name, nodes in rows)
    )


def _heat() -> Results:
    return results(*(threads(a, 0.03 + 0.002 * b, inter_op_threads=b) for a in (1, 2, 4) for b in (1, 2, 4)))


def _facets() -> Results:
    rows = [(name, kind, n) for name in ("jax", "pytorch") for kind in ("eager", "compiled") for n in (1, 2, 4)]
    return results(*(threads(n, framework=name, execution=kind) for name, kind, n in rows), repetitions=2)


def _thread_ways() -> Results:
    """Three networks with more and more work in sections that want few threads."""
    tag = USER_PARAMETER + "network"
    found = []
    for name, count, narrow in (("wide output", 100, 0.05), ("stacked", 200, 0.1), ("narrow", 300, 0.5)):
        for size in (1, 16, 64):
            own = {tag: name, "parameter_count": count, "batch_size": size, "cpus_per_task": 4}
            work = 0.01 * size**0.5
            settings = [(n, work * ((1 - narrow) / n + narrow * n**0.5)) for n in (1, 2, 4)]
            found += [case(time_s, threads="fixed", intra_op_threads=n, **own) for n, time_s in settings]
            found.append(case(settings[-1][1] * 1.02, threads="none", **own))
            found.append(case(work * ((1 - narrow) / 4 + narrow), threads="dynamic", **own))
    return results(*found, spread=0.01)


def _many_axes() -> Results:
    axes = {place: f"{USER_PARAMETER}axis_{place}" for place in range(50)}
    cases = [case(0.01 * (n + 1), **{name: (n * (place + 3)) % 5 for place, name in axes.items()}) for n in range(12)]
    return results(*cases, repetitions=2)


def _odd_values() -> Results:
    values = [True, False, None, 1, "one", 2.5, float("nan"), float("inf"), 10**400]
    return results(*(case(0.01 * (n + 1), **{USER_PARAMETER + "kind": value}) for n, value in enumerate(values)))


def _incomplete() -> Results:
    """With a case that failed, one too fast for the clock, and one of a single measurement."""
    failed = case(0.1, framework="jax", status="failed")
    return results(case(0.03), failed, case(0.0, framework="mxnet"), case(0.02, framework="tensorflow"))


SHAPES: dict[str, Callable[[], Results]] = {
    "one case": lambda: results(case(0.1)),
    "numbers": lambda: results(*(threads(count) for count in (1, 2, 4, 8))),
    "two frameworks": lambda: results(case(0.1), case(0.2, framework="jax")),
    "frameworks": _frameworks,
    "frameworks and threads": lambda: results(*(threads(n, framework=f) for f in FRAMEWORKS for n in (1, 2))),
    "twelve lines": lambda: results(
        *(threads(n, **{USER_PARAMETER + "kind": f"k{k}"}) for k in range(12) for n in (1, 2))
    ),
    "60 names": lambda: results(
        *(case(0.01 + 0.001 * n, **{USER_PARAMETER + "name": f"v{n}"}) for n in range(60)), samples=2
    ),
    "heat": _heat,
    "facets": _facets,
    "threads by way": _thread_ways,
    "50 axes": _many_axes,
    "weak": _weak,
    "GPUs": _gpus,
    "inference": _inference,
    "eight workloads": _works,
    "commands": lambda: commands(12.5, 25.0, 26.0),
    "hostile names": hostile,
    "hostile lines": hostile_lines,
    "odd values": _odd_values,
    "many orders of magnitude": lambda: results(*(case(10.0**-n, intra_op_threads=2**n) for n in range(8))),
    "incomplete": _incomplete,
    "single measurements": lambda: results(*(threads(n) for n in (1, 2, 4)), repetitions=1, samples=1),
    "wide intervals": lambda: results(*(threads(n) for n in (1, 2, 4)), repetitions=2, spread=5.0),
    "all failed": lambda: results(case(0.1, status="failed"), case(0.1, framework="jax", status="timeout")),
    "equal": lambda: results(case(0.1), case(0.1, framework="jax"), spread=0.0),
}


@functools.cache
def shape(name: str) -> Results:
    """One of SHAPES, made once."""
    return SHAPES[name]()


@functools.cache
def figures(name: str) -> tuple[Figure, ...]:
    """Those of one of SHAPES."""
    return tuple(chosen(shape(name), None))


@functools.cache
def drawn(name: str, place: PlotSize = AS_FILE) -> tuple[tuple[Figure, dict[str, Any]], ...]:
    """Each of those with its specification, which nobody may change."""
    return tuple((each, specification(each, place)) for each in figures(name))
