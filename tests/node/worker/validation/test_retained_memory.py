"""Freed memory that the process retains: page faults of arrays that are allocated again and again."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import json, resource, sys
from hpcbench.node.worker.validation.retained_memory import retained

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        bytearray(2**26)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

outside = faults()
with retained():
    inside = faults()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1])
with open("/proc/self/statm") as file:
    released = resident - int(file.read().split()[1])
print(json.dumps([outside, inside, faults(), released * resource.getpagesize()]))
"""


def measured(**variables: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env={**environment, **variables}, check=True, capture_output=True, text=True, timeout=60
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library; not run: the setting of glibc")
def test_memory_is_cleared_once_while_it_is_retained_and_is_released_afterwards() -> None:
    outside, inside, after, released = measured()
    assert inside < outside / 4
    assert after > outside / 2
    assert released >= 2**25


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library; not run: the setting of glibc")
def test_a_malloc_that_the_environment_configures_is_left_alone() -> None:
    outside, inside, after, _ = measured(MALLOC_ARENA_MAX="2")
    assert min(inside, after) > outside / 2
