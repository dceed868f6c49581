"""The valid measurements of a case as a text histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from rich.text import Text

from hpcbench.analysis.stats.histogram import Histogram, histogram
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import PROBED, SAMPLES
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.text.bars import bar
from hpcbench.report.text.numbers import duration, figure

_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
WIDEST, NARROWEST = 40, 10  # length of a bar, in characters
_DECIMALS = 9


def distribution(view: CaseView, width: int, *, plain: bool) -> Iterator[Text]:
    """Yield a title and a line per bin, within `width` characters if possible; nothing without measurements."""
    if not view.valid_rows:
        return
    pooled = np.concatenate([row[SAMPLES] for row in view.valid_rows])
    found = histogram(pooled)
    middle = float(view.row["time_median_s"])
    factor, unit = _scale(middle)
    yield Text(f"{_what(view)}, in {unit}{', on a logarithmic axis' if found.logarithmic else ''}", style="dim")
    names, marked, most = _names(found, factor), found.bin_of(middle), max(found.counts)
    counts = [f"{count:,}" for count in found.counts]
    longest = len(max(counts, key=len))
    mark = f"  < median {duration(middle)}"
    rest = len(names[0]) + 2 + 2 + longest + len(mark)
    widest = min(WIDEST, max(NARROWEST, width - rest))
    for place, count in enumerate(found.counts):
        drawn = bar(count / most, widest, plain=plain)
        yield Text.assemble(
            f"{names[place]}  ",
            (f"{drawn:{widest}}", "cyan"),
            f"  {counts[place]:>{longest}}",
            (mark if place == marked else "", "bold"),
        )


def _what(view: CaseView) -> str:
    """Return a description of the samples: times of steps or commands, and the runs."""
    rows = view.valid_rows
    steps = max(row["steps_per_measurement"] for row in rows)
    each = f"mean times of {steps} steps" if steps > 1 else "step times"
    is_whole = view.planned.parameters["framework"] == COMMAND and view.row[PROBED] is None
    each = "wall times" if is_whole else each
    numbers = ", ".join(str(row["run"]) for row in rows)
    return f"{each} of run{'s' * (len(rows) > 1)} {numbers}"


def _scale(seconds: float) -> tuple[float, str]:
    """Return the unit of all bins in seconds, and its name: the largest unit in which the median is at least 1."""
    return next(((factor, unit) for factor, unit in reversed(_UNITS) if seconds >= factor), _UNITS[0])


def _names(found: Histogram, factor: float) -> list[str]:
    """Return the ranges of the bins, e.g. `9.6 - 10.4`, with enough decimals to distinguish the edges."""
    edges = [edge / factor for edge in found.edges]
    if found.logarithmic:
        written = [figure(edge) for edge in edges]
    else:
        decimals = max(0, 1 - _magnitude(edges[1] - edges[0]), 2 - _magnitude(edges[-1]))
        written = [f"{edge:,.{min(decimals, _DECIMALS)}f}" for edge in edges]
    longest = max(map(len, written))
    return [f"{low:>{longest}} - {high:>{longest}}" for low, high in pairwise(written)]


def _magnitude(value: float) -> int:
    """Return the decimal exponent of a value: 1 for 12.3, -1 for 0.618."""
    return math.floor(math.log10(value)) if value > 0 else 0
