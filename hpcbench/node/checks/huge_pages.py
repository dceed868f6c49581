"""Transparent huge pages: https://docs.kernel.org/admin-guide/mm/transhuge.html."""

import re
from typing import List, Optional

from ...core.check_result import NOTE, OK, CheckResult
from ..host.sysfs import System

_FOLDER = "sys/kernel/mm/transparent_hugepage/"


def check(system: System) -> List[CheckResult]:
    """Return the settings of transparent huge pages."""
    enabled = _chosen(system.text(_FOLDER + "enabled"))
    defrag = _chosen(system.text(_FOLDER + "defrag"))
    if enabled is None:
        return [CheckResult("huge pages", OK, "this kernel has no transparent huge pages")]
    found = "transparent huge pages: %s, defrag %s" % (enabled, defrag or "unknown")
    if enabled == "never":
        means = "Large tensors use many small pages: memory-bound work is slower than with huge pages."
        remedy = "Compare only with nodes of the same setting, or ask the administrators for `madvise`."
        return [CheckResult("huge pages", NOTE, found, means, remedy)]
    if enabled == "always" and defrag == "always":
        means = "Allocations may wait for memory compaction: a few steps are much slower."
        remedy = "Ask the administrators for defrag `madvise` or `defer+madvise`; until then, high percentiles vary."
        return [CheckResult("huge pages", NOTE, found, means, remedy)]
    return [CheckResult("huge pages", OK, found)]


def _chosen(text: Optional[str]) -> Optional[str]:
    """Return `madvise` for `always [madvise] never`."""
    match = re.search(r"\[([\w+]+)\]", text or "")
    return match.group(1) if match else None
