"""The whole validation of operators that NumPy computes in place of a framework: verdict and evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hpcbench.core.typed_json import from_json, to_json
from hpcbench.core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from hpcbench.models.operators.operator import BOTH, FORWARD
from hpcbench.node.worker.validation import validate as module
from tests.node.worker.validation.numpy_call import NumPyOperator, validated, variant

LINEAR = {"rows": 40, "inputs": 9, "outputs": 6}
Arrays = dict[str, Any]


def test_a_right_operator_passes_with_its_evidence() -> None:
    found = validated("linear", LINEAR, BOTH)
    assert (found.verdict, found.reason) == (PASSED, None)
    assert list(found.arrays) == ["output", "x", "weight", "bias"]
    assert found.worst in found.arrays.values()
    assert found.worst is not None
    assert 0 < found.worst.bound_ratio == max(error.bound_ratio for error in found.arrays.values()) < 1
    assert found.error_map is not None
    assert found.error_map.array == found.worst.array
    assert max(map(max, found.error_map.rows)) == pytest.approx(found.worst.max, rel=1e-3)
    assert found.gradient_check is not None
    assert found.duration_s is not None
    assert found.duration_s > 0
    assert from_json(Validation, to_json(found)) == found


def test_bounds_above_which_zeros_would_pass_are_not_a_pass() -> None:
    def halved(self: Any, results: Arrays) -> Arrays:
        return {name: 0.5 * array for name, array in results.items()}

    for of in (NumPyOperator, variant(after=halved)):
        found = validated("mse", {"size": 100_000}, dtype="bfloat16", of=of)
        assert found.verdict == NOT_VALIDATED
        assert found.reason.startswith("the error bound is ")
        assert found.reason.endswith(" times the norm of the results, too large to detect errors")
        assert found.worst is not None
    assert validated("mse", {"size": 100}, dtype="bfloat16").verdict == PASSED


def test_the_forward_pass_has_no_gradient_check() -> None:
    found = validated("linear", LINEAR, FORWARD)
    assert (found.gradient_check, list(found.arrays)) == (None, ["output"])


def test_equal_results_have_equal_checksums() -> None:
    one, other, third = (validated("linear", LINEAR, seed=seed).checksum for seed in (1, 1, 2))
    assert one == other != third


class Noisy(NumPyOperator):
    """Sums in another order at each call: the last digit of one element changes."""

    def after(self, results: Arrays) -> Arrays:
        for array in results.values():
            array[3, 2] = np.nextafter(array[3, 2], np.float32(np.inf if self.calls % 2 else -np.inf))
        return results


def test_noise_of_a_planted_double_is_reported_and_is_no_failure() -> None:
    found = validated("linear", LINEAR, of=Noisy)
    assert found.verdict == PASSED
    assert found.repeatability is not None
    assert not found.repeatability.bitwise
    assert 0 < found.repeatability.largest_difference < 1e-5
    assert found.variance_map is not None
    rows = np.array(found.variance_map.rows)
    assert np.argwhere(rows > 0).tolist() == [[np.searchsorted(np.linspace(0, 40, 33).astype(int)[1:], 3, "right"), 2]]
    quiet = validated("linear", LINEAR)
    assert quiet.repeatability is not None
    assert (quiet.repeatability.bitwise, quiet.variance_map) == (True, None)


class Overflowing(NumPyOperator):
    """One element is infinite at each second call."""

    def after(self, results: Arrays) -> Arrays:
        results["output"][3, 2] += np.float32(np.inf if self.calls % 2 == 0 else 0)
        return results


def test_a_number_of_a_planted_double_that_is_sometimes_infinite_is_null_with_a_reason() -> None:
    found = validated("linear", LINEAR, of=Overflowing)
    assert found.repeatability is not None
    assert (found.repeatability.largest_difference, found.repeatability.reason) == (None, "a difference is not finite")
    assert found.variance_map is not None
    assert sum(cell is None for row in found.variance_map.rows for cell in row) == 1
    assert from_json(Validation, json.loads(json.dumps(to_json(found), allow_nan=False))) == found


@pytest.mark.parametrize("depends", [False, True])
def test_results_that_depend_on_the_threads_of_a_planted_double_are_reported_and_are_no_failure(depends: bool) -> None:
    def with_threads(count: int, call: Callable[[], Arrays]) -> Arrays:
        results = call()
        if depends and count == 2:
            results["output"] = np.nextafter(results["output"], np.float32(np.inf))
        return results

    found = validated("linear", LINEAR, with_threads=with_threads)
    assert found.verdict == PASSED
    repeats = found.repeatability
    assert repeats is not None
    assert (repeats.bitwise, repeats.thread_counts, repeats.threads_bitwise) == (True, [1, 2], not depends)
    assert (repeats.threads_difference or 0) > 0 if depends else repeats.threads_difference == 0


def test_a_case_that_is_too_large_is_not_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FLOPS", 4000)
    found = validated("linear", LINEAR)
    assert found.verdict == NOT_VALIDATED
    assert found.reason is not None
    assert found.reason.startswith("too large for the reference: one call has ")
    assert found.reason.endswith(" GFLOP; the limit is 4e-06 GFLOP")
    assert (found.worst, found.repeatability) == (None, None)
    assert validated("tanh", {"size": 5}).verdict == PASSED


def test_a_case_with_too_many_numbers_is_not_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NUMBERS", 40 * 9 + 6 * 9 + 6 + 40 * 6)
    assert validated("linear", LINEAR).verdict == PASSED
    assert validated("linear", {**LINEAR, "rows": 41}).verdict == NOT_VALIDATED
    monkeypatch.setattr(module, "MOST_NUMBERS", 1e6)
    assert validated("tanh", {"size": 10**6}).reason == (
        "too large for the reference: it has 2 million numbers; the limit is 1 million"
    )


def test_a_reference_that_does_not_fit_into_the_memory_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_bytes", lambda system: 50e3)
    assert validated("linear", LINEAR, FORWARD).verdict == PASSED
    assert validated("linear", LINEAR, BOTH).verdict == NOT_VALIDATED
    monkeypatch.setattr(module, "available_bytes", lambda system: 0.5e9)
    monkeypatch.setattr(module, "reference_bytes", lambda operator, phase: 1.25e9)
    assert validated("linear", LINEAR, BOTH).reason == (
        "too large for the reference: it needs 1.25 GB of memory, and 0.50 GB are available"
    )
    monkeypatch.setattr(module, "available_bytes", lambda system: None)
    assert validated("linear", LINEAR, BOTH).verdict == PASSED


def test_the_error_map_shows_where_the_error_is() -> None:
    def change(self: NumPyOperator, results: Arrays) -> Arrays:
        results["output"][39, 5] += 1
        return results

    found = validated("linear", LINEAR, of=variant(after=change))
    assert (found.verdict, found.worst and list(found.worst.worst)) == (FAILED, [39, 5])
    assert found.error_map is not None
    assert found.error_map.shape == [40, 6]
    assert found.error_map.rows[-1][-1] == pytest.approx(1, abs=1e-3)
    assert max(max(row[:-1]) for row in found.error_map.rows) < 1e-3
