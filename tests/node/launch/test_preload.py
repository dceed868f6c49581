"""Where libraries for LD_PRELOAD are looked for. The linker's cache is this machine's; files are made up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.launch import preload

NOTHING: dict[str, Any] = {"openmp": None, "allocator": None}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a file that begins as one for this machine does below a folder; the linker's cache is empty."""
    monkeypatch.setattr(preload, "_LDCONFIG", ())
    monkeypatch.setattr(preload, "_USUAL", ())
    monkeypatch.setattr(preload.sys, "prefix", str(tmp_path / "prefix"))
    own = Path(sys.executable).read_bytes()[:64]

    def put(path: str, header: bytes = own) -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(header)
        return str(file)

    return put


def asks(**settings: str) -> dict[str, Any]:
    return {**NOTHING, **settings}


def test_a_case_that_asks_for_nothing_misses_nothing(library: Any) -> None:
    assert preload.found(NOTHING, {}) == []
    assert preload.missing(NOTHING, {}) is None


def test_a_library_beside_the_python_is_found_as_pip_and_conda_put_it(library: Any) -> None:
    path = library("prefix/lib/libiomp5.so")
    assert preload.found(asks(openmp="intel"), {}) == [path]
    assert preload.missing(asks(openmp="intel"), {}) is None


def test_an_allocator_that_is_no_library_needs_none(library: Any) -> None:
    assert preload.found(asks(allocator="glibc-retain"), {}) == []
    assert preload.missing(asks(allocator="glibc-retain"), {}) is None


def test_the_users_library_path_comes_first(library: Any, tmp_path: Path) -> None:
    library("prefix/lib/libjemalloc.so.2")
    users = library("users/libjemalloc.so.2")
    variables = {"LD_LIBRARY_PATH": f":/nowhere:{tmp_path / 'users'}"}
    assert preload.found(asks(allocator="jemalloc"), variables) == [users]


def test_the_runtime_and_the_allocator_go_together(library: Any) -> None:
    paths = [library("prefix/lib/libomp.so"), library("prefix/lib/libtcmalloc.so.4")]
    assert preload.found(asks(openmp="llvm", allocator="tcmalloc"), {}) == paths


def test_what_is_missing_is_told_with_where_it_was_looked_for_and_how_to_get_it(library: Any, tmp_path: Path) -> None:
    told = preload.missing(asks(allocator="tcmalloc"), {"LD_LIBRARY_PATH": "/opt/mine"})
    assert told
    for words in ("libtcmalloc_minimal.so.4", "/opt/mine", str(tmp_path / "prefix" / "lib"), "libtcmalloc-minimal4"):
        assert words in told
    assert preload.found(asks(allocator="tcmalloc"), {}) == []


def test_what_is_no_library_of_this_machine_is_passed_by(library: Any) -> None:
    """ld.so would only warn of it."""
    own = Path(sys.executable).read_bytes()[:64]
    for header in (b"", b"GROUP ( libomp.so.5 )", own[:18] + b"\x00\xff" + own[20:], own[:4] + b"\x01" + own[5:]):
        library("prefix/lib/libomp.so.5", header)
        assert preload.missing(asks(openmp="llvm"), {})


def test_llvms_runtime_under_intels_name_is_not_intels(library: Any, tmp_path: Path) -> None:
    """As libomp-dev of Debian and llvm-openmp of conda-forge have it."""
    library("prefix/lib/libomp.so")
    (tmp_path / "prefix/lib/libiomp5.so").symlink_to("libomp.so")
    assert preload.missing(asks(openmp="intel"), {})
    assert preload.found(asks(openmp="llvm"), {})


def test_a_path_that_ld_preload_would_take_for_two_is_passed_by(library: Any, tmp_path: Path) -> None:
    library("two words/libomp.so.5")
    assert preload.missing(asks(openmp="llvm"), {"LD_LIBRARY_PATH": str(tmp_path / "two words")})


def test_the_cache_of_the_linker_is_read() -> None:
    if not any(map(Path.exists, map(Path, preload._LDCONFIG))):
        pytest.skip("no ldconfig here; not run: the linker's cache")
    assert any(Path(path).exists() for paths in preload._cache().values() for path in paths)
