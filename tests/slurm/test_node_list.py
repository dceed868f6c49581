from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.slurm.node_list import compact, expand

NAMES = st.from_regex(r"[a-z]{1,3}-?[0-9]{0,4}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3,5]", ["n1", "n2", "n3", "n5"]),
        ("gpu[08-10],login", ["gpu08", "gpu09", "gpu10", "login"]),
        ("rack[1-2]n[1-2]", ["rack1n1", "rack1n2", "rack2n1", "rack2n2"]),
        ("n[a-b]", ["n[a-b]"]),
    ],
)
def test_a_list_of_slurm_is_taken_apart(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n2", "n1", "n3", "n1"], "n[1-3]"),
        (["n9", "n10", "n12"], "n[9-10,12]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["login", "n1"], "login,n1"),
        (["a1", "b1", "a2"], "a[1-2],b1"),
    ],
)
def test_names_are_put_together_as_slurm_does_it(names: list[str], text: str) -> None:
    assert compact(names) == text


@given(st.sets(NAMES))
def test_what_is_put_together_is_taken_apart_to_the_same_names(names: set[str]) -> None:
    assert set(expand(compact(names))) == names
