"""The hint to a word that is not known."""

from __future__ import annotations

import pytest

from hpcbench.errors import is_misspelt, nearest

KNOWN = {"keras-jax", "keras-torch", "pytorch", "mxnet", "Frameworks", "frameworks-scaling"}


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("pytorhc", "did you mean 'pytorch'?"),
        ("MXNET", "did you mean 'mxnet'?"),
        ("keras", "did you mean one of keras-jax, keras-torch?"),
        ("py", "did you mean 'pytorch'?"),
        ("frameworks", "did you mean 'Frameworks'?"),
        ("zzz", "use one of: Frameworks, frameworks-scaling, keras-jax, keras-torch, mxnet, pytorch"),
        ("", "use one of: Frameworks, frameworks-scaling, keras-jax, keras-torch, mxnet, pytorch"),
    ],
)
def test_the_hint_names_what_may_be_meant(word: str, hint: str) -> None:
    assert nearest(word, KNOWN) == hint


def test_a_name_that_is_known_twice_is_listed_once() -> None:
    assert nearest("zzz", ["speedup", "time", "speedup"]) == "use one of: speedup, time"


def test_many_that_begin_alike_are_no_question() -> None:
    many = [f"run-{number}" for number in range(9)]
    assert nearest("ru", many).startswith("use one of: run-0")


def test_where_nothing_is_known_nothing_is_said() -> None:
    assert nearest("a", []) == ""


@pytest.mark.parametrize(
    ("word", "name", "misspelt"),
    [
        ("rat", "rate", True),
        ("raate", "rate", True),
        ("rtae", "rate", True),
        ("train_los", "train_loss", True),
        ("rate", "rate", False),
        ("loss", "val_loss", False),
        ("loss_d", "loss_g", False),
        ("top5", "top1", False),
        ("p9", "p99", False),
        ("time", "mite", False),
        ("ab", "abc", False),
    ],
)
def test_a_misspelt_name_is_told_from_another_name(word: str, name: str, misspelt: bool) -> None:
    assert is_misspelt(word, name) == is_misspelt(name, word) == misspelt
