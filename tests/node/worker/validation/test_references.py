"""The reference of a collective operator: the sum over all ranks."""

from __future__ import annotations

import numpy as np

from hpcbench.node.worker.validation.references import references_of
from tests.node.worker.validation.numpy_call import computation


def test_the_reference_of_an_all_reduce_is_the_sum_over_all_ranks_with_its_bound() -> None:
    case = computation("all_reduce", {"floats": 1000})
    others = [case.arrays_of(rank) for rank in (1, 2, 3)]
    found = references_of(case.request, others)["output"]
    arrays = [case.request.arrays["x"], *(each["x"] for each in others)]
    exact = sum(array.astype(np.float64) for array in arrays)
    assert np.array_equal(found.value, exact)
    assert found.error is not None
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        summed = np.zeros(1000, np.float32)
        for place in order:
            summed = summed + arrays[place]
        assert (np.abs(summed - exact) <= 4 * found.error).all()
    assert (found.error < 1e-5).all()


def test_one_task_has_nothing_to_add() -> None:
    case = computation("all_reduce", {"floats": 5})
    found = references_of(case.request)["output"]
    assert (found.error, np.array_equal(found.value, case.request.arrays["x"])) == (None, True)
