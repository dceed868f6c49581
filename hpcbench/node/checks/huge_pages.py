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
        return [CheckResult("huge pages", OK, "this kernel has no transparent ones")]
    found = "transparent ones: %s, defrag %s" % (enabled, defrag or "unknown")
    if enabled == "never":
        means = "Large tensors take many small pages: what is bound by memory is slower than on nodes that have them."
        remedy = "Compare only with nodes set alike, or ask for `madvise` on all of them."
        return [CheckResult("huge pages", NOTE, found, means, remedy)]
    if enabled == "always" and defrag == "always":
        means = "A process that allocates may have to wait while the kernel tidies memory: a few steps are much slower."
        remedy = "Ask for defrag `madvise` or `defer+madvise` on the nodes; read percentiles with care until then."
        return [CheckResult("huge pages", NOTE, found, means, remedy)]
    return [CheckResult("huge pages", OK, found)]


def _chosen(text: Optional[str]) -> Optional[str]:
    """Return `madvise` for `always [madvise] never`."""
    match = re.search(r"\[([\w+]+)\]", text or "")
    return match.group(1) if match else None
