"""Tables as files: CSV and Parquet."""

from __future__ import annotations

import sys

import pandas as pd

from hpcbench.report.files import replacing


def write_csv(frame: pd.DataFrame, target: str) -> None:
    """CSV to a file, or to stdout where `target` is `-`. Raises UserError where the file cannot be written."""
    if target == "-":
        frame.to_csv(sys.stdout, index=False)
        return
    with replacing(target) as part:
        frame.to_csv(part, index=False)


def write_parquet(frame: pd.DataFrame, target: str) -> None:
    """Parquet to a file. Raises UserError where the file cannot be written."""
    plain = frame.copy()
    for name in plain.columns:  # a tag may hold a number here and a text there, which no column type does
        if plain[name].dtype == object and len({type(value) for value in plain[name].dropna()}) > 1:
            plain[name] = plain[name].map(str, na_action="ignore")
    with replacing(target) as part:
        plain.to_parquet(part, index=False)
