"""What the dynamic linker has given this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hpcbench.node import linked


def test_the_allocator_of_this_python_is_the_c_librarys() -> None:
    if "LD_PRELOAD" not in os.environ:
        assert Path(linked.provider("malloc") or "").name.startswith(("libc.", "libc-", "ld-musl"))


def test_a_function_that_nothing_offers_to_all_has_no_provider() -> None:
    assert linked.provider("hpcbench_no_such_function") is None


def test_the_program_itself_is_mapped_and_a_library_of_nobody_is_not(tmp_path: Path) -> None:
    assert linked.not_mapped([os.path.realpath(sys.executable)]) is None
    nobodys = str(tmp_path / "libnobodys.so")
    assert linked.not_mapped([sys.executable, nobodys]) == nobodys


def test_a_link_to_a_mapped_library_is_mapped(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(os.path.realpath(sys.executable))
    assert linked.not_mapped([str(link)]) is None
