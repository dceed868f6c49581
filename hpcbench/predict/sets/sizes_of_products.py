"""FLOPs and bytes that are not those of the sizes of a product: usually, a multiply-add counts as one operation."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.sets.places import place
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.util.text import plural

_TOLERANCE = 0.10  # of the expected value; with a bias, a product has few more bytes
_PRODUCTS = (table.GEMM, table.BATCHED_GEMM)
# The output of products in fewer bits is in another data type, which differs between libraries.
_SAME_OUTPUT = ("float32", "tf32", "float16", "bfloat16")


def contradicted_sizes(operators: pd.DataFrame) -> list[str]:
    """Return a sentence per file and column with the number of products whose FLOPs or bytes contradict their sizes.

    The formulas are those of docs/reference/predictor-data.md. Convolutions are checked for FLOPs only.
    """
    products = operators[operators["kind"].isin((*_PRODUCTS, table.CONV))]
    batch, m, n, k = (products[name].to_numpy(dtype="float64") for name in ("batch", "m", "n", "k"))
    has_bytes = products["kind"].isin(_PRODUCTS) & products["dtype"].isin(_SAME_OUTPUT)
    elements = batch * (m * k + k * n + m * n) * element_bytes_of(products["dtype"])
    return [
        *_sentences(products, "flops", 2 * batch * m * n * k),
        *_sentences(products, "bytes", np.where(has_bytes, elements, np.nan)),
    ]


def _sentences(products: pd.DataFrame, column: str, expected: NDArray[np.float64]) -> list[str]:
    with np.errstate(invalid="ignore"):
        wrong = np.abs(products[column].to_numpy(dtype="float64") - expected) > _TOLERANCE * expected
    rows = products[wrong].assign(expected=expected[wrong])
    return [
        f"{file}: {plural(len(each), 'row')} with '{column}' that contradict the sizes, for example "
        f"{place(str(file), each['row'].iloc[0])}: {each[column].iloc[0]:.4g}, not {each['expected'].iloc[0]:.4g}"
        for file, each in rows.groupby("file", sort=False)
    ]
