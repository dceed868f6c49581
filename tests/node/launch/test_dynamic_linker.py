"""What the dynamic linker has given this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpcbench.core.variables.worker import RETAINING
from hpcbench.node.launch import dynamic_linker


def test_the_allocator_of_this_python_is_the_c_librarys() -> None:
    if "LD_PRELOAD" not in os.environ:
        assert Path(dynamic_linker.provider("malloc") or "").name.startswith(("libc.", "libc-", "ld-musl"))


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system; not run: its allocator")
def test_the_allocator_of_a_python_at_a_fixed_address_such_as_debians_is_the_c_librarys() -> None:
    code = "from hpcbench.node.launch import dynamic_linker as linked; print(linked.provider('malloc'), end='')"
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[3])}
    told = subprocess.check_output(["/usr/bin/python3", "-c", code], env=own, text=True)
    assert Path(told).name.startswith(("libc.", "libc-", "ld-musl"))


def test_a_function_that_nothing_offers_to_all_has_no_provider() -> None:
    assert dynamic_linker.provider("hpcbench_no_such_function") is None


@pytest.mark.skipif(
    os.confstr("CS_GNU_LIBC_VERSION") is None, reason="needs glibc; not run: whether its allocator retains memory"
)
@pytest.mark.parametrize(
    ("variables", "retains"),
    [
        ({}, False),
        (RETAINING, True),
        ({"MALLOC_MMAP_MAX_": "0"}, False),  # from the heap, which shrinks
        ({"MALLOC_TRIM_THRESHOLD_": "-1"}, False),  # large blocks do not come from the heap
    ],
)
def test_it_is_seen_whether_glibcs_allocator_keeps_what_is_freed(variables: dict[str, str], retains: bool) -> None:
    code = "from hpcbench.node.launch import dynamic_linker as linked; print(linked.in_effect()['allocator'], end='')"
    own = {"PATH": os.environ["PATH"], **variables}
    told = subprocess.run([sys.executable, "-c", code], env=own, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert told.startswith(("libc.", "libc-"))
    assert told.endswith(" (retains)") is retains


def test_the_program_itself_is_mapped_and_a_library_of_nobody_is_not(tmp_path: Path) -> None:
    assert dynamic_linker.not_mapped([os.path.realpath(sys.executable)]) is None
    nobodys = str(tmp_path / "libnobodys.so")
    assert dynamic_linker.not_mapped([sys.executable, nobodys]) == nobodys


def test_a_link_to_a_mapped_library_is_mapped(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(os.path.realpath(sys.executable))
    assert dynamic_linker.not_mapped([str(link)]) is None
