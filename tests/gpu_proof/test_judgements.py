"""The conclusions of steps from records, readings of NVML and output: each for a good and a bad case."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tools.gpu_proof import checkup, driver, energy, foreign, frameworks, gpu_tests, models, readings, summary
from tools.gpu_proof.bench import Done
from tools.gpu_proof.steps import FAILED, NOT_RUN, PARTLY, PASSED, Ended, judged, not_run

START, END, WATTS = 1000.0, 1010.0, 400.0


def record(**changes: Any) -> dict[str, Any]:
    """A completed run of ten seconds on a GPU of 400 W, with some fields changed."""
    usage: dict[str, Any] = {f"gpu0.{name}": [1, 2, 3] for name in energy.USAGE}
    usage["gpu0.throttle_reasons"] = [0, 2, 4]
    usage[foreign.COLUMN] = [0, 0, 0]
    part = {"kind": "gpu", "joules": WATTS * (END - START), "uncertainty_j": 9.0, "method": "counter"}
    part |= {"sensor": "nvidia hopper energy counter", "reason": None, "remark": None}
    whole = {
        "status": "completed",
        "error": None,
        "warnings": [],
        "parameters": {
            "framework": "pytorch",
            "model": "mlp",
            "task": "training",
            "strategy": "single",
            "dtype": "float32",
            "execution": "eager",
        },
        "measurements": {"windows": [[START, 1005.0, 5], [1005.0, END, 5]], "times_s": [1.0] * 10, "first_step_s": 2.0},
        "monitors": [{"energy": [part], "usage": usage, "absent": {}}],
        "interference": {"verdict": "clean", "found": [], "unseen": []},
        "gpus": ["NVIDIA H100"],
        "peak_device_bytes": 2**30,
        "work": dict.fromkeys(frameworks.SAME, 1),
        "weights_crc32": 7,
    }
    return copy.deepcopy({**whole, **changes})


def read(watts: float = WATTS, reasons: int = 4) -> list[dict[str, Any]]:
    """Readings of NVML from before the run to after it."""
    times = [START - 1 + 0.05 * number for number in range(241)]
    return [
        {"time_s": time_s, "energy_mj": watts * 1e3 * time_s, "power_mw": watts * 1e3, "reasons": (0, reasons)[i % 2]}
        for i, time_s in enumerate(times)
    ]


def test_equal_energy_passes_and_the_evidence_has_both_numbers() -> None:
    outcome = energy.compared(record(), read(), 0.1)
    assert outcome.status == PASSED, outcome.problems
    text = " ".join(outcome.evidence)
    assert "4000.0 J +- 9.0 J by counter" in text
    assert "counter over the same window: 4000.0 J; the record differs by +0.00%" in text
    assert "independently: 400.0 W" in text


@pytest.mark.parametrize(
    ("changed", "watts", "problem"),
    [
        ({}, 420.0, "differs from the counter by -4.8%"),
        (
            {"energy": {"joules": None, "reason": "its sensor is unsupported"}},
            WATTS,
            "no energy in the record: its sensor",
        ),
        (
            {"energy": {"remark": "its counter (1 J) contradicts its power"}},
            WATTS,
            "remark on the energy: its counter (1 J)",
        ),
        ({"usage": "gpu0.clock_sm_mhz"}, WATTS, "gpu0.clock_sm_mhz has no reading"),
    ],
)
def test_what_is_off_or_missing_fails(changed: dict[str, Any], watts: float, problem: str) -> None:
    one = record()
    one["monitors"][0]["energy"][0].update(changed.get("energy", {}))
    one["monitors"][0]["usage"].pop(changed.get("usage"), None)
    outcome = energy.compared(one, read(watts), None)
    assert outcome.status == FAILED
    assert problem in " ".join(outcome.problems)


def test_a_counter_that_was_not_read_over_the_whole_run_fails() -> None:
    outcome = energy.compared(record(), read()[:100], None)
    assert outcome.problems == ["the device's energy counter was not read over the whole window"]


def test_readings_that_are_too_far_apart_fail(tmp_path: Path) -> None:
    timeline = tmp_path / "local.jsonl.gz"
    lines: list[Any] = [
        {"sources": {"cpu": [], energy.ENERGY: []}},
        [1, 5.0, 1],
        [0, 5.5],
        [1, 6.5, 1],
        [1, 6.6, 1],
        {},
    ]
    timeline.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert readings.longest_gap_s(timeline, "other") is None
    apart_s = readings.longest_gap_s(timeline, energy.ENERGY)
    assert apart_s == 1.5
    problems = energy.compared(record(), read(), apart_s).problems
    assert problems == ["runs of 10 s, the default, have no energy if readings are 1.50 s apart"]


def test_throttle_reasons_must_be_those_that_nvml_gave() -> None:
    assert energy.throttling(record(), read()).status == PASSED
    assert energy.throttling(record(), read(reasons=0x40)).problems == ["probe.py never read power cap"]
    silent = record()
    del silent["monitors"][0]["usage"]["gpu0.throttle_reasons"]
    assert energy.throttling(silent, read()).problems == ["the record has no throttle reasons"]
    assert readings.named(0x44) == "power cap, hardware thermal slowdown"
    assert readings.named(0x1000) == "0x1000"


def beside(most: float | None, found: bool = True) -> dict[str, Any]:
    """The record of a run next to another process on the GPU."""
    one = record()
    one["monitors"][0]["usage"][foreign.COLUMN] = [0, most, most]
    evidence = {"causes": ["gpu"], "what": "other processes were on gpu0", "windows": 2, "size": 1}
    one["interference"]["found"] = [evidence] if found else []
    if most is None:
        del one["monitors"][0]["usage"][foreign.COLUMN]
    return one


def test_another_process_must_be_counted_and_be_in_the_interference() -> None:
    listed = '{"processes": [[77, 100]]}'
    assert foreign.noticed(beside(1), record(), 77, listed, False).status == PASSED
    assert foreign.noticed(beside(0), None, 77, listed, False).problems == ["the other process was not counted"]
    assert foreign.noticed(beside(1, found=False), None, 77, listed, False).status == FAILED
    assert foreign.noticed(beside(1, found=False), None, 77, listed, True).status == PASSED, "a rehearsal on CPUs"
    outcome = foreign.noticed(beside(1), beside(1), 77, listed, False)
    assert outcome.problems == ["other processes were counted in the run alone"]


def test_without_process_ids_of_this_container_it_is_not_run_with_the_reason() -> None:
    outcome = foreign.noticed(beside(None), None, 77, "[]", False)
    assert outcome.status == NOT_RUN
    assert "the driver reports process IDs of another PID namespace" in outcome.problems[0]


def test_models_without_a_record_are_named_and_failures_show_their_message() -> None:
    wanted = [("mlp", "float32"), ("lstm", "float32")]
    outcome = models.of_models([record()], wanted, False, "")
    assert (outcome.status, outcome.problems) == (PARTLY, ("not run for lack of time: lstm in float32",))
    error = {"message": "CUDA error", "last_lines": ["a", "b"]}
    outcome = models.of_models([record(status="failed", error=error)], wanted[:1], False, "")
    assert outcome.problems == ["pytorch mlp training single float32 eager: failed: CUDA error [a | b]"]
    assert models.of_models([], wanted, False, "last line").problems == ["no record: last line"]
    outcome = models.of_models([record(gpus=[], peak_device_bytes=None)], wanted[:1], False, "")
    assert len(outcome.problems) == 2


def test_a_run_that_the_time_limit_stopped_is_not_run_and_none_at_all_has_failed() -> None:
    done = Done(None, "hpcbench: interrupted")
    outcome = models.without_record([record(status="cancelled")], done)
    assert outcome is not None
    assert outcome.status == NOT_RUN
    outcome = models.without_record([], done)
    assert outcome is not None
    assert outcome.problems == ["no record: hpcbench: interrupted"]
    assert models.without_record([record()], done) is None


def test_strategies_and_frameworks_must_do_the_same_work() -> None:
    found = [record(parameters={**record()["parameters"], "strategy": name}) for name in frameworks.STRATEGIES]
    assert frameworks.of_strategies(found, False, "").status == PASSED
    outcome = frameworks.of_strategies(found[:2], False, "")
    assert (outcome.status, outcome.problems) == (PARTLY, ("not run for lack of time: fsdp",))
    found[2]["work"]["parameter_count"] = 2
    assert frameworks.of_strategies(found, False, "").problems == ["fsdp has another workload than single"]


def test_a_difference_between_jax_and_pytorch_is_named() -> None:
    pairs = [
        record(parameters={**record()["parameters"], "framework": name, "model": model})
        for name in ("pytorch", "jax")
        for model in frameworks.MODELS
    ]
    assert frameworks.of_pairs(pairs, False, "").status == PASSED
    pairs[-1]["work"]["math_mode"] = "tf32"
    assert frameworks.of_pairs(pairs, False, "").problems == ["resnet50: math_mode is 1 in PyTorch and tf32 in JAX"]
    outcome = frameworks.of_pairs(pairs[:3], False, "")
    assert (outcome.status, outcome.problems) == (PARTLY, ("not enough time; run only: resnet50 in pytorch",))


def findings(**numbers: float) -> list[dict[str, Any]]:
    rates = {f"gpu_{dtype}_flops_per_s": 1e12 * (number + 1) for number, dtype in enumerate(checkup.DTYPES)}
    rates |= {"gpu_float32_bytes_per_s": 3e12, **numbers}
    subjects = [{"subject": name, "level": "ok", "found": "it", "numbers": {}} for name in checkup.GPU_CHECKS]
    return [*subjects[:-1], {**subjects[-1], "numbers": rates}]


def test_doctor_must_have_checked_the_gpu_and_its_peaks() -> None:
    assert checkup.of_findings(findings(), False).status == PASSED
    assert checkup.of_findings(findings()[1:], False).problems == ["no result for 'GPUs'"]
    slow = checkup.of_findings(findings(gpu_bfloat16_flops_per_s=1e11), False)
    assert slow.problems == ["bfloat16 is not faster than float32: TF32 may be on, or tensor cores unused"]
    bad = [{"subject": "GPU compute mode", "level": "problem", "found": "Prohibited", "numbers": {}}]
    assert checkup.of_findings([*findings(), *bad], False).problems == ["GPU compute mode: Prohibited"]


def test_a_page_without_rooflines_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert checkup.of_page(page, [], False).problems == ["report wrote no page"]
    page.write_text("<section></section>")
    assert checkup.of_page(page, [], False).status == FAILED
    page.write_text('<figure id="figure-roofline"></figure>')
    assert checkup.of_page(page, [], False).status == PASSED


def test_nvml_fails_for_each_function_without_a_value_and_one_name_of_a_renamed_one_is_enough() -> None:
    known: dict[str, Any] = dict.fromkeys((*driver.REQUIRED, *driver.REASONS), 1)
    known["fields"] = {"power_instant_mw": [0, 1, 300000]}
    assert driver.of_functions(known).status == PASSED
    known[driver.REASONS[0]] = {"error": "NVMLError_FunctionNotFound"}
    assert driver.of_functions(known).status == PASSED
    known["processes"], known["fields"]["power_instant_mw"] = {"error": "NoPermission"}, [3, 0, 0]
    assert driver.of_functions(known).problems == [
        "processes: NoPermission",
        "field power_instant_mw: return code 3, type 0",
    ]


@pytest.mark.parametrize(
    ("output", "status", "shown"),
    [
        ("....\n48 passed in 30.1s", PASSED, "48 passed in 30.1s"),
        ("FAILED a.py::b - boom\n1 failed, 47 passed in 30.1s", FAILED, "FAILED a.py::b - boom"),
        ("SKIPPED [1] a.py:14: no GPU here\n1 skipped in 3.6s", NOT_RUN, "no GPU here"),
        ("ERROR: unknown option", FAILED, "unknown option"),
        ("no tests ran in 0.1s", FAILED, "no result: no tests ran in 0.1s"),
        ("", FAILED, "pytest printed nothing"),
    ],
)
def test_the_outcome_of_pytest_is_read_from_its_output(output: str, status: str, shown: str) -> None:
    outcome = gpu_tests.of_output(output)
    assert outcome.status == status
    assert shown in " ".join((*outcome.evidence, *outcome.problems))


def test_the_summary_shows_failures_before_everything_else() -> None:
    ended = [
        Ended("nvml", "functions", judged(["clock = 1"], []), 1.0),
        Ended("energy", "energy", judged(["4000 J"], ["off by\n9 %"]), 20.0),
        Ended("jax", "JAX", not_run("not installed: jax"), 0.0),
    ]
    text = summary.markdown({"torch": "2.11"}, ended, True)
    assert summary.REHEARSAL in text
    assert "1 failed, 1 not run, 0 passed in part, 1 passed." in text
    assert "| energy | failed | 20 | energy |" in text
    places = [
        text.index(part) for part in ("## energy: failed", "**off by 9 %**", "## jax: not run", "## nvml: passed")
    ]
    assert places == sorted(places)
