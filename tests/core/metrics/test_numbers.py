"""Numbers and units as programs write them, and their values."""

from __future__ import annotations

import math

import pytest

from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.numbers import number
from hpcbench.core.metrics.units import converter


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1e-3", None, 0.001),
        ("3,14", None, 3.14),
        ("-0,123", None, -0.123),
        ("1234,567", None, 1234.567),
        ("1,5e-3", None, 0.0015),
        ("1,234.5", None, 1234.5),
        ("1.234,5", None, 1234.5),
        ("1,234,567", None, 1234567),
        ("1,234", ".", 1234),
        ("1,234", ",", 1.234),
        ("1.234", ",", 1234),
        ("1.234.567,5", ",", 1234567.5),
        ("1'234'567.5", None, 1234567.5),
        ("1\u202f234,5", None, 1234.5),
        ("\u22125", None, -5),
        ("12.5 \u00b1 0.3", None, 12.5),
        ("12.5 +/- 0.3", None, 12.5),
        ("5.", None, 5),
        ("5.2.", None, 5.2),
    ],
)
def test_a_number_has_the_value_that_its_writer_meant(text: str, decimal: str | None, value: float) -> None:
    assert number(text, decimal) == pytest.approx(value)


@pytest.mark.parametrize("text", ["nan", "-inf", "Infinity", "NaN", "1e999"])
def test_a_number_that_is_not_finite_is_nan(text: str) -> None:
    assert math.isnan(number(text))


@pytest.mark.parametrize(("text", "decimal"), [("1,234", None), ("1,23.4", None), ("1.2.3", None), ("3,14", ".")])
def test_an_ambiguous_number_is_refused(text: str, decimal: str | None) -> None:
    with pytest.raises(MetricError):
        number(text, decimal)


@pytest.mark.parametrize(
    ("found", "unit", "value"),
    [
        ("s/it", "it/s", 0.5),
        ("ms/it", "it/s", 500),
        ("it/s", "it/s", 2),
        ("it/min", "it/s", 2 / 60),
        ("iter/sec", "it/s", 2),
        ("s/batch", "batch/s", 0.5),
        ("ms", "s", 0.002),
        ("seconds", "ms", 2000),
        ("GB/s", "MB/s", 2000),
        ("GiB/s", "GB/s", 2.147483648),
        ("KiB", "MiB", 2 / 1024),
        ("Gbit/s", "GB/s", 0.25),
        ("Mbps", "Mbit/s", 2),
        ("GFLOPS", "TFLOP/s", 0.002),
        ("Gflop/s", "GFLOP/s", 2),
        ("Ktokens/s", "tokens/s", 2000),
        ("sample/s", "samples/s", 2),
        ("mW", "W", 0.002),
    ],
)
def test_a_unit_is_converted_to_another_one_of_the_same_quantity(found: str, unit: str, value: float) -> None:
    assert converter(found, unit)(2) == pytest.approx(value)


@pytest.mark.parametrize(
    ("found", "unit"), [("MB", "s"), ("it", "it/s"), ("s/it", "s"), ("img/s", "it/s"), ("", "s"), ("s", "it/s")]
)
def test_a_unit_of_another_quantity_is_refused(found: str, unit: str) -> None:
    with pytest.raises(MetricError, match=f"'{found}' cannot be converted to '{unit}'"):
        converter(found, unit)


def test_the_inverse_of_zero_is_not_finite() -> None:
    assert math.isnan(converter("s/it", "it/s")(0.0))
