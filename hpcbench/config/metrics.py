"""The metrics of an experiment: numbers in the output or the files of its commands."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field, field_validator, model_validator

from hpcbench.config.yaml_document import Model
from hpcbench.core.metrics.syntax import compiled, path_steps

PREFIX = "metric_"  # prefix of the columns of metrics
_READABLE = {"/": "_per_", "%": "percent", "µ": "u", "μ": "u", "°": "deg"}
_MOST_PATTERN = 1000  # characters


class Metric(Model):
    """A metric: one number per run of a command, and where to read it."""

    regex: str | None = Field(
        default=None,
        max_length=_MOST_PATTERN,
        description="a pattern whose group `value`, or only group, is the number; `^` and `$` match at each line; a "
        "group `unit` is the unit if it varies, e.g. `ms` and `s`, or `it/s` and `s/it`",
    )
    json_path: str | None = Field(  # `json` is a method of pydantic models
        default=None,
        alias="json",
        min_length=1,
        description="a path such as `runs[0].rate`, or `runs[*].rate` for all values; "
        "the JSON may be within other output, at the end of a line or over several lines",
    )
    mllog: str | None = Field(default=None, min_length=1, description="a key of an MLPerf log, e.g. `eval_accuracy`")
    csv: str | None = Field(
        default=None,
        min_length=1,
        description="name of a column in the header of a table, with commas, semicolons, tabs, vertical bars or spaces "
        "between cells; `NAME[1]` is the second column with this name",
    )
    log: str | None = Field(
        default=None,
        min_length=1,
        description="name of a value that the program logs with `probe.log()` of hpcbench_probe; without `reduce`, the "
        "metric is the last value",
    )
    decimal: Literal[".", ","] | None = Field(
        default=None, description="decimal mark; unset: `3,14` and `1,234.5` are numbers, `1,234` is ambiguous"
    )
    file: str | None = Field(
        default=None,
        description="file with the metric, relative to `$HPCBENCH_RUN`; unset: the output of the command",
    )
    unit: str = Field(default="", description="unit, e.g. `it/s`")
    reduce: Literal["last", "first", "mean", "median", "max", "sum", "min"] | None = Field(
        default=None, description="how to reduce several numbers to one; unset: exactly one number must be found"
    )
    better: Literal["higher", "lower"] | None = Field(
        default=None, description="which is better; unset: higher if the unit ends in `/s`, lower for a time"
    )

    @field_validator("regex")
    @classmethod
    def _one_number(cls, value: str | None) -> str | None:
        if value is not None:
            compiled(value)
        return value

    @field_validator("json_path", "mllog")
    @classmethod
    def _path(cls, value: str | None) -> str | None:
        if value is not None:
            path_steps(value)
        return value

    @field_validator("mllog")
    @classmethod
    def _begins_with_key(cls, value: str | None) -> str | None:
        if value is not None and not isinstance((path_steps(value) or [None])[0], str):
            raise ValueError("must begin with a key of an MLPerf log, e.g. eval_accuracy")
        return value

    @field_validator("file")
    @classmethod
    def _inside(cls, value: str | None) -> str | None:
        """Return a file name. Raise ValueError outside the run's folder: it may be of an earlier run."""
        if value is not None and (not value or PurePosixPath(value).is_absolute() or ".." in value.split("/")):
            raise ValueError("the file must be in $HPCBENCH_RUN, the folder of the run: give its name in this folder")
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Metric:
        ways = [self.regex, self.json_path, self.mllog, self.csv, self.log]
        if sum(way is not None for way in ways) != 1:
            raise ValueError("give exactly one of regex, json, mllog, csv and log")
        if self.log and (self.file or self.decimal):
            raise ValueError(f"'{'file' if self.file else 'decimal'}' cannot be used with 'log'")
        if self.regex and "unit" in compiled(self.regex).groupindex and not self.unit:
            raise ValueError("a pattern with a group `unit` requires the `unit` to which numbers are converted")
        return self


def column_of(name: str, unit: str) -> str:
    """Return the column of a metric in a table: `metric_rate_it_per_s` for `rate` in it/s."""
    readable = "".join(_READABLE.get(letter, letter) for letter in unit)
    slug = re.sub(r"[^A-Za-z0-9]+", "_", readable).strip("_")
    return f"{PREFIX}{name}_{slug}" if slug else f"{PREFIX}{name}"


def interval_columns(column: str) -> tuple[str, str]:
    """Return the columns of the lower and upper 95 % confidence limits of a column."""
    return f"{column}_ci_low", f"{column}_ci_high"
