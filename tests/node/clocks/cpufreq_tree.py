"""A copy of the files of cpufreq below another root: this machine has no CPU whose clock can be changed."""

from __future__ import annotations

from pathlib import Path

from hpcbench.node.host.sysfs import System

FOLDER = "sys/devices/system/cpu/cpu%d/cpufreq"


def make(root: Path, cpus: list[int], related: str = "", lowest_khz: int = 800_000) -> System:
    """Make the files of CPUs from 0.8 to 3 GHz, limited to 0.8 to 2.5 GHz, and return their system."""
    for cpu in cpus:
        folder = root / (FOLDER % cpu)
        folder.mkdir(parents=True)
        contents = {
            "cpuinfo_min_freq": str(lowest_khz),
            "cpuinfo_max_freq": "3000000",
            "scaling_min_freq": "800000",
            "scaling_max_freq": "2500000",
            "related_cpus": related or str(cpu),
        }
        for name, text in contents.items():
            (folder / name).write_text(text + "\n")
    return System(cpus, str(root))


def limits(root: Path, cpu: int) -> tuple[str, str]:
    """Return the lower and the upper limit of a CPU."""
    folder = root / (FOLDER % cpu)
    return (folder / "scaling_min_freq").read_text().strip(), (folder / "scaling_max_freq").read_text().strip()
