"""The values of arrays: equal on every run, exact in their data type, and without the places where gradients jump."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.models.operators.catalog import OPERATORS, operator_of
from hpcbench.models.operators.operator import INDEX
from hpcbench.models.operators.values import arrays_of, cotangent_of, rounded
from tests.models.operators.small_sizes import CASES, IDS

CHECKSUM = 1027442372
singles = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)


def nearest(value: float, digits: int) -> float:
    """The nearest number with so many binary digits; of two, the one whose last digit is 0."""
    mantissa, exponent = np.frexp(np.float64(value))
    return float(np.ldexp(np.rint(mantissa * 2**digits), exponent - digits))


@given(value=singles)
def test_bfloat16_is_the_nearest_number_with_eight_digits(value: float) -> None:
    assert rounded(np.float32([value]), "bfloat16")[0] == nearest(value, 8)


@given(value=st.floats(2.0**-14, 60000.0, width=32))
def test_float16_is_the_nearest_number_with_eleven_digits(value: float) -> None:
    for signed in (value, -value):
        assert rounded(np.float32([signed]), "float16")[0] == nearest(signed, 11)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 + 2.0**-8, 1.0), (1 + 3 * 2.0**-8, 1 + 2.0**-6), (1 + 2.0**-8 + 2.0**-20, 1 + 2.0**-7), (-0.0, 0.0)],
)
def test_ties_of_bfloat16_are_rounded_to_even(value: float, expected: float) -> None:
    assert rounded(np.float32([value]), "bfloat16")[0] == expected


def test_only_float32_numbers_are_rounded() -> None:
    exact, indices = np.array([1 / 3]), np.int32([70001])
    assert rounded(exact, "bfloat16") is exact
    assert rounded(indices, "float16") is indices
    single = np.float32([1 / 3])
    assert rounded(single, "float32") is single


@pytest.mark.parametrize(("name", "sizes"), CASES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_arrays_have_their_shapes_and_are_exact(name: str, sizes: dict[str, int], dtype: str) -> None:
    operator = operator_of(name, sizes)
    arrays, cotangent = arrays_of(operator, 3, 0, dtype), cotangent_of(operator, 3, 0, dtype)
    for each, described in {**operator.arrays(), "cotangent": operator.output()}.items():
        array = cotangent if each == "cotangent" else arrays[each]
        assert array.shape == described.shape
        if described.role == INDEX:
            assert array.dtype == np.int32
            assert (array >= 0).all()
            assert (array < described.below).all()
        else:
            assert array.dtype == np.float32
            np.testing.assert_array_equal(rounded(array, dtype), array)
            assert np.abs(array).max() > 0


def test_values_are_equal_on_every_run_and_differ_by_seed_and_rank() -> None:
    operator = operator_of("gemm", {"m": 5, "n": 6, "k": 7})

    def checksum(seed: int, rank: int) -> int:
        arrays = {
            **arrays_of(operator, seed, rank, "float32"),
            "cotangent": cotangent_of(operator, seed, rank, "float32"),
        }
        return zlib.crc32(b"".join(array.tobytes() for array in arrays.values()))

    assert checksum(3, 0) == checksum(3, 0) == CHECKSUM
    assert len({checksum(3, 0), checksum(4, 0), checksum(3, 1)}) == 3
    assert not np.array_equal(
        arrays_of(operator, 3, 0, "float32")["a"].flat[:30], cotangent_of(operator, 3, 0, "float32").flat
    )


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in ("pooling", "embedding")])
def test_numbers_have_a_variance_near_1_or_that_of_initial_weights(name: str) -> None:
    operator = operator_of(name, {})
    for each, described in operator.arrays().items():
        if described.role != INDEX and described.size < 2_000_000:
            array = arrays_of(operator, 0, 0, "float32")[each]
            assert np.abs(array).max() <= described.spread * (1 + 1e-6) + described.least
            assert np.abs(array[array != 0]).min() >= described.least
            if described.size > 10_000 and not described.least:
                expected = described.spread**2 / 3 * (1 - described.zeros)
                assert array.var() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("side", [2, 3, 16])
def test_windows_for_max_pooling_have_no_equal_numbers(side: int) -> None:
    operator = operator_of("pooling", {"n": 2, "c": 3, "h": 37, "w": 40, "kernel": side, "stride": 1})
    images = arrays_of(operator, 1, 0, "bfloat16")["x"]
    windows = np.lib.stride_tricks.sliding_window_view(images, (side, side), (2, 3))
    ordered = np.sort(windows.reshape(-1, side * side), -1)
    assert (np.diff(ordered) >= 1 / 64).all()
    assert not np.array_equal(images[0, 0], images[0, 1])


@pytest.mark.parametrize("sparsity", [0.5, 0.9, 0.95])
def test_the_fraction_of_zeros_is_the_sparsity(sparsity: float) -> None:
    operator = operator_of("sparse_gemm", {"m": 40, "k": 50, "sparsity": sparsity})
    a = arrays_of(operator, 1, 0, "float32")["a"]
    assert (a == 0).mean() == pytest.approx(sparsity, abs=1e-9)
    assert ((a == 0).any(0)).mean() > 0.9  # everywhere
