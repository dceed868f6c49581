"""The line that states what was predicted."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.results.work import BATCH_SIZE, DTYPE, EXECUTION, MODEL, TASK
from hpcbench.util.text import in_list, plural

_MOST = 3  # values of one column that are named


def headline(results: pd.DataFrame) -> str:
    """Return what the cases are: `gpt, training, bfloat16, eager, batch size 4`.

    Of many models, return their number; of many batch sizes, none.
    """
    models, *others = ([each for each in results[name].unique() if each] for name in (MODEL, TASK, DTYPE, EXECUTION))
    sizes = [f"{size:.0f}" for size in sorted(results[BATCH_SIZE].dropna().unique())]
    named = in_list(models) if len(models) <= _MOST else plural(len(models), "model")
    of_batch = f"batch size{'s' if len(sizes) > 1 else ''} {in_list(sizes)}" if 0 < len(sizes) <= _MOST else ""
    return ", ".join(filter(None, [named, *map(in_list, others), of_batch]))
