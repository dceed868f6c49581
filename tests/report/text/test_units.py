"""The units that the names of columns end with."""

from __future__ import annotations

import pytest

from hpcbench.report.html.table import table_of
from hpcbench.report.text.units import apart
from tests.report.synthetic_results import case, results


@pytest.mark.parametrize(
    ("column", "name", "unit"),
    [
        ("time_std_s", "time std", "s"),
        ("first_step_s", "first step", "s"),
        ("peak_memory_bytes", "peak memory", "B"),
        ("throughput_items_per_s", "throughput", "samples/s"),
        ("energy_cpu_j", "energy cpu", "J"),
        ("energy_cpu_j_per_item", "energy cpu", "J/item"),
        ("predicted_power_w", "predicted power", "W"),
        ("gpu_clock_mhz", "gpu clock", "MHz"),
        ("valid_flops_per_w", "valid flops per w", ""),
        ("batch_size", "batch size", ""),
        ("param_wait_s", "wait s", ""),
        ("metric_rate_it_per_s", "metric rate it per s", ""),
    ],
)
def test_a_name_is_told_apart_from_its_unit(column: str, name: str, unit: str) -> None:
    assert apart(column) == (name, unit)


def test_titles_of_the_table_have_no_unit_that_is_told_beside_them() -> None:
    found = results(case(0.1), case(0.2, framework="jax"), repetitions=2)
    more = found.cases.assign(throughput_items_per_s_ci_low=1.0, first_step_s=1.0, time_std_s=1.0, energy_reason_s="a")
    told = {column.key: (column.title, column.kind, column.unit) for column in table_of(more, found).columns}
    assert told["time_std_s"] == ("time std", "time", "")
    assert told["first_step_s"] == ("first step", "time", "")
    assert told["throughput_items_per_s"] == ("throughput", "number", "samples/s")
    assert told["throughput_items_per_s_ci_low"] == ("throughput ci low", "number", "samples/s")
    assert told["peak_memory_bytes"] == ("peak memory", "bytes", "")
    assert told["energy_reason_s"] == ("energy reason s", "text", "")
    assert told["time_median_s"] == ("time median", "time", "")
