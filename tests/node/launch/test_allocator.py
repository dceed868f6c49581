"""What is asked of glibc's allocator. Another C library is made up."""

from __future__ import annotations

import ctypes
import types

import pytest

from hpcbench.node.launch import allocator


def test_with_another_c_library_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: types.SimpleNamespace())
    told = allocator.missing({"allocator": "glibc-retain"})
    assert told == "allocator: glibc-retain requires glibc, and this Python uses another C library"
    assert allocator.missing({"allocator": "jemalloc"}) is None
    assert allocator.missing({"allocator": None}) is None


def test_with_glibc_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    own = types.SimpleNamespace(gnu_get_libc_version=object())
    monkeypatch.setattr(ctypes, "CDLL", lambda name: own)
    assert allocator.missing({"allocator": "glibc-retain"}) is None
