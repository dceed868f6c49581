"""Messages with the same cause, whatever data of a run they contain, and messages with different causes."""

from __future__ import annotations

import pytest

from hpcbench.util.causes import cause

SAME = [
    ("job 12 left nothing", "job 4711 left nothing"),
    ("rank 3 on node07.cluster exited with 1", "rank 12 on node113.cluster exited with 1"),
    ("killed at 0x7ffe12ab", "killed at 0xdeadbeef"),
    ("cannot read /scratch/tmpabcxyz_/run/data.npz", "cannot read /scratch/tmpqqqwwwee/run/data.npz"),
    ("cannot read /scratch/job-12/data.npz", "cannot read /scratch/job-13/data.npz"),
    ("stopped on Thu Nov 26 10:11:12 2026", "stopped on Fri Dec 4 09:00:00 2026"),
    ("tried to allocate 2.00 GiB", "tried to allocate 512.00 MiB"),
    ("1 task left no result", "2 tasks left no result"),
    ("connection to 10.0.0.1:29500 refused", "connection to 10.0.0.17:30001 refused"),
    ("nodes n1, n2 are down", "nodes n3 are down"),
    ("socket /tmp/aBcDeFgH/s", "socket /tmp/xYzUvWqR/s"),
    (
        "r: the pattern 'x' was not found in the output, which ends: bye",
        "r: the pattern 'x' was not found in the output, which ends: a; b",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_messages_that_differ_in_what_a_run_has_are_of_one_cause(one: str, other: str) -> None:
    assert cause(one) == cause(other)


def test_names_of_nodes_without_digits_must_be_given() -> None:
    assert cause("alpha does not answer", ["alpha"]) == cause("beta does not answer", ["alpha", "beta"])
    assert cause("alphabet is unknown", ["alpha"]) == "alphabet is unknown"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("float16 is not supported", "bfloat16 is not supported"),
        ("the model needs a GPU", "the model needs data"),
        ("no module named torch", "no module named jax"),
        ("cannot read /data/train.npz", "cannot read /data/test.npz"),
        ("the command exited with 2: bad", "the command exited with 1: bad"),
    ],
)
def test_other_words_are_other_causes(one: str, other: str) -> None:
    assert cause(one) != cause(other)
