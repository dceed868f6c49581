from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hpcbench.config.slurm_options import OWN_OPTIONS, SlurmOptions, time_text, walltime_s


def options(**given: Any) -> SlurmOptions:
    return SlurmOptions.model_validate(given)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30 * 60),
        ("30:15", 30 * 60 + 15),
        ("01:30:15", 5415),
        ("100:00:00", 360_000),
        ("2-03", (2 * 24 + 3) * 3600),
        ("2-03:04", (2 * 24 + 3) * 3600 + 4 * 60),
        ("2-03:04:05", (2 * 24 + 3) * 3600 + 4 * 60 + 5),
        ("0-00:00:01", 1),
    ],
)
def test_every_format_of_a_slurm_time_is_understood(text: str, seconds: int) -> None:
    assert walltime_s(options(time=text).time) == seconds


@settings(derandomize=True)
@given(st.integers(0, 365), st.integers(0, 23), st.integers(0, 59), st.integers(1, 59))
def test_a_time_with_days_is_the_same_time_in_hours(days: int, hours: int, minutes: int, seconds: int) -> None:
    with_days = walltime_s(f"{days}-{hours:02}:{minutes:02}:{seconds:02}")
    assert with_days == walltime_s(f"{days * 24 + hours}:{minutes:02}:{seconds:02}")
    assert with_days == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def test_a_time_that_is_a_number_means_minutes() -> None:
    assert walltime_s(options(time=90).time) == 5400


@pytest.mark.parametrize(
    "time",
    [
        *("", "soon", "1:2:3:4", "-5", "1-", "1-2-3", "0", "00:00:00", "1h", "10:00 ", "10\n", "1.5", True, None),
        "٣٠",
    ],
)
def test_a_time_that_slurm_does_not_know_is_refused(time: Any) -> None:
    with pytest.raises(ValidationError):
        options(time=time)


HOSTILE = [
    *("a b", 'a"b', "a'b", "$(id)", "`id`", "$HOME", "a;b", "a\nb", "a\rb", "a\0b", "a\\b", "a#b", "{a}", "a>b", "é"),
    *("-x", ""),
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "field", ["partition", "account", "qos", "constraint", "reservation", "nodelist", "exclude", "options"]
)
def test_a_value_that_could_break_an_sbatch_line_is_refused(field: str, value: str) -> None:
    with pytest.raises(ValidationError, match="an sbatch option cannot contain"):
        options(**{field: {"comment": value} if field == "options" else value})


@pytest.mark.parametrize(
    "given", [{"options": {"het-group": 1}}, {"options": {"pack-group": 1}}, {"comment": "hetjob"}, {"qos": "PackJob"}]
)
def test_heterogeneous_jobs_are_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="heterogeneous jobs are not supported"):
        options(**({"options": given} if "comment" in given else given))


def test_a_type_of_gpus_cannot_be_requested_without_an_option() -> None:
    with pytest.raises(ValidationError, match="gpu_type cannot be used with gpu_option: none"):
        options(gpu_type="v100", gpu_option="none")


@pytest.mark.parametrize("field", ["time", "mem", "mem_per_cpu", "hint"])
@pytest.mark.parametrize("value", HOSTILE)
def test_no_other_option_lets_such_a_value_through(field: str, value: str) -> None:
    with pytest.raises(ValidationError):
        options(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("constraint", "(v100|a100)&ib"),
        ("constraint", "[rack1*2&rack2*4]"),
        ("nodelist", "n[01-04,7]"),
        ("partition", "cpu,gpu"),
        ("account", "proj_1.a@site"),
        ("mem", "16G"),
        ("mem", 4000),
        ("hint", "nomultithread"),
        ("options", {"mail-type": "END,FAIL", "spread-job": True, "nice": 10, "tmp": "10G"}),
    ],
)
def test_a_value_that_slurm_knows_is_taken(field: str, value: Any) -> None:
    assert options(**{field: value})


@pytest.mark.parametrize("name", sorted(OWN_OPTIONS))
def test_an_option_that_hpcbench_sets_itself_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=f"hpcbench sets --{name} itself"):
        options(options={name: "x"})


@pytest.mark.parametrize("name", ["", "Mail-Type", "-n", "--comment", "mail type", "a=b", "a\nb", "$(id)"])
def test_an_option_that_has_no_long_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is not the long name"):
        options(options={name: "x"})


def test_an_option_with_a_key_of_its_own_is_pointed_to_it() -> None:
    with pytest.raises(ValidationError, match=r"use slurm\.mem_per_cpu"):
        options(options={"mem-per-cpu": "1G"})


@pytest.mark.parametrize("mem", ["16GB", "much", "1.5G", "-1G", "16 G"])
def test_a_memory_that_slurm_does_not_know_is_refused(mem: str) -> None:
    with pytest.raises(ValidationError, match="write memory as"):
        options(mem=mem)


def test_two_kinds_of_memory_are_refused() -> None:
    with pytest.raises(ValidationError, match="mem cannot be used with mem_per_cpu"):
        options(mem="1G", mem_per_cpu="1G")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"time": "01:00:00", "pack_walltime": "00:59:59"},
            r"less than slurm.time \(01:00:00\), the time limit per run",
        ),
        ({"pack": "parallel"}, "pack: parallel requires pack_walltime"),
        ({"pack_walltime": "soon"}, "write a time as"),
        ({"pack_walltime": "0"}, "write a time as"),
        ({"pack": "sideways"}, "'serial' or 'parallel'"),
    ],
)
def test_packs_that_make_no_sense_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        options(**given)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1, "0:00:01"), (600, "0:10:00"), (86399, "23:59:59"), (86400, "1-00:00:00"), (200_000, "2-07:33:20")],
)
def test_seconds_are_written_as_slurm_reads_them(seconds: int, text: str) -> None:
    assert time_text(seconds) == text
    assert walltime_s(text) == seconds
