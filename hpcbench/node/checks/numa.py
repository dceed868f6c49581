"""The NUMA domains of the usable CPUs, and NUMA balancing."""

from typing import List

from ...core import ranges
from ...core.check_result import NOTE, OK, CheckResult
from ..host.sysfs import System, counted

_NODES = "sys/devices/system/node/node[0-9]*"


def check(system: System) -> List[CheckResult]:
    """Return how many NUMA domains the usable CPUs are in, and whether the kernel moves pages between them."""
    cpus = [set(ranges.expand(system.text(node + "/cpulist"))) for node in system.matching(_NODES)]
    domains = [each for each in cpus if each]  # a NUMA domain may have memory but no CPU
    ours = [each for each in domains if each & set(system.cpus)]
    if len(domains) < 2:
        return [CheckResult("NUMA", OK, "one domain")]
    if len(ours) == 1:
        return [CheckResult("NUMA", OK, "usable CPUs in one of %d domains" % len(domains))]
    found = "%s in %d of %d domains" % (counted(len(system.cpus), "usable CPU"), len(ours), len(domains))
    means = "Access to memory of another domain is slower: times depend on the placement of threads and data."
    remedy = "Use one bound task per domain: launcher: {srun: [--cpu-bind=cores, --mem-bind=local]} in the site file."
    return [CheckResult("NUMA", NOTE, found, means, remedy), *_moving(system)]


def _moving(system: System) -> List[CheckResult]:
    if system.number("proc/sys/kernel/numa_balancing") in (None, 0):
        return []
    means = "The kernel migrates pages between domains: some steps are slower."
    remedy = "Bind memory (--mem-bind=local), or ask the administrators for sysctl kernel.numa_balancing=0."
    return [CheckResult("NUMA balancing", NOTE, "on", means, remedy)]
