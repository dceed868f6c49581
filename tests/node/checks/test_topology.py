"""Hyperthreads, memory domains and huge pages, on machines that are laid out as files."""

from __future__ import annotations

import pytest

from hpcbench.core.check_result import NOTE, OK
from hpcbench.node.checks import huge_pages, numa, smt

NODE, THP = "sys/devices/system/node/", "sys/kernel/mm/transparent_hugepage/"


def siblings(*cores: str) -> dict[str, str]:
    """The files of four CPUs on these cores."""
    return {f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list": core for n, core in enumerate(cores)}


HYPERTHREADS = siblings("0,2", "1,3", "0,2", "1,3")


@pytest.mark.parametrize(
    ("files", "cpus", "level", "words"),
    [
        (HYPERTHREADS, [0, 1, 2, 3], NOTE, "on, 2 CPUs per core: 4 usable CPUs on 2 cores"),
        (HYPERTHREADS, [0, 1], OK, "no two usable CPUs share a core: 2 usable CPUs on 2 cores"),
        (HYPERTHREADS, [1, 3], NOTE, "2 usable CPUs on 1 core"),
        (siblings("0", "1", "2", "3"), [0, 1, 2, 3], OK, "off or none: 4 usable CPUs on 4 cores"),
        ({}, [5], OK, "1 usable CPU on 1 core"),
    ],
)
def test_cpus_that_share_a_core_are_told(lay, files: dict[str, str], cpus: list[int], level: str, words: str) -> None:
    (finding,) = smt.check(lay(files, cpus))
    assert finding.level == level
    assert words in finding.found


def domains(*cpus: str) -> dict[str, str]:
    return {f"{NODE}node{n}/cpulist": each + "\n" for n, each in enumerate(cpus)}


@pytest.mark.parametrize(
    ("files", "cpus", "found"),
    [
        (domains("0-3"), [0, 1, 2, 3], [(OK, "one domain")]),
        (domains("0-1", "2-3"), [0, 1], [(OK, "usable CPUs in one of 2 domains")]),
        (domains("0-1", "2-3"), [1, 2], [(NOTE, "2 usable CPUs in 2 of 2 domains")]),
        (domains("0-3", ""), [0, 1], [(OK, "one domain")]),
        ({}, [0, 1], [(OK, "one domain")]),
    ],
    ids=["one", "within one", "across two", "one of memory alone", "nothing told"],
)
def test_domains_of_memory_are_counted(
    lay, files: dict[str, str], cpus: list[int], found: list[tuple[str, str]]
) -> None:
    assert [finding[1:3] for finding in numa.check(lay(files, cpus))] == found


@pytest.mark.parametrize(("balancing", "count"), [("1", 2), ("0", 1)])
def test_a_kernel_that_moves_pages_between_domains_is_told(lay, balancing: str, count: int) -> None:
    found = numa.check(lay({**domains("0", "1"), "proc/sys/kernel/numa_balancing": balancing}))
    assert len(found) == count


@pytest.mark.parametrize(
    ("enabled", "defrag", "level", "found"),
    [
        (
            "always [madvise] never",
            "always defer [madvise] never",
            OK,
            "transparent huge pages: madvise, defrag madvise",
        ),
        ("[always] madvise never", "always defer [defer+madvise] never", OK, "always, defrag defer+madvise"),
        ("always [madvise] never", "[always] defer never", OK, "madvise, defrag always"),
        ("[always] madvise never", "[always] defer never", NOTE, "always, defrag always"),
        ("always madvise [never]", "[always] never", NOTE, "never"),
    ],
)
def test_huge_pages_are_judged_with_what_the_kernel_does_for_them(
    lay, enabled: str, defrag: str, level: str, found: str
) -> None:
    (finding,) = huge_pages.check(lay({THP + "enabled": enabled, THP + "defrag": defrag}))
    assert finding.level == level
    assert found in finding.found


def test_a_kernel_without_huge_pages_is_ok(lay) -> None:
    assert huge_pages.check(lay({}))[0].level == OK
