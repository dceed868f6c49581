"""Model and arithmetic of the processors of this machine, and of those whose /proc/cpuinfo is in machines/."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from hpcbench.node.host import cpuinfo

MACHINES = Path(__file__).parent / "machines"
OURS = platform.machine()
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

MODELS = {
    "x86-intel": "Intel(R) Xeon(R) Platinum 8480+",
    "x86-amd": "AMD EPYC 7763 64-Core Processor",
    "x86-virtual": "AMD EPYC family 25 model 1",
    "arm-graviton2": "Neoverse-N1",
    "arm-grace": "Neoverse-V2",
    "arm-a64fx": "A64FX",
    "arm-thunderx2": "ThunderX2-99xx",
    "arm-kunpeng920": "TaiShan-v110",
    "arm-big-little": "Cortex-A53, Cortex-A72",
    "arm-unlisted": "Arm, part 0xdff",
    "arm-unlisted-vendor": "Arm, implementer 0x7a, part 0x001",
    "power9": "POWER9",
    "power8": "POWER8 (architected)",
    "riscv": "sifive,u74-mc",
    "loongarch": "Loongson-3C5000L",
    "flags-alone": OURS,
    "missing": OURS,
}


@pytest.mark.parametrize("machine", MODELS)
def test_each_architecture_has_a_model(machine: str) -> None:
    assert cpuinfo.model(str(MACHINES / machine)) == MODELS[machine]


def test_each_sample_is_tried() -> None:
    assert {path.name for path in MACHINES.iterdir()} == set(MODELS) - {"missing"}


@pytest.mark.parametrize(
    ("machine", "bfloat16", "float16"),
    [
        ("x86-intel", True, True),
        ("x86-amd", False, False),
        ("arm-grace", True, True),
        ("arm-graviton2", False, True),
        ("flags-alone", False, False),
        ("power9", False, False),
        ("missing", False, False),
    ],
)
def test_16_bit_arithmetic_needs_the_flag(machine: str, bfloat16: bool, float16: bool) -> None:
    root = str(MACHINES / machine)
    assert (cpuinfo.computes_in("bfloat16", root), cpuinfo.computes_in("float16", root)) == (bfloat16, float16)


def test_a_damaged_number_is_named_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text("processor: 0\nCPU implementer: x\n")
    assert cpuinfo.model(str(tmp_path)) == "Arm, implementer x, part unknown"


@linux
def test_this_machine_has_the_model_and_the_flags_of_its_proc_cpuinfo() -> None:
    text = Path("/proc/cpuinfo").read_text()
    named = cpuinfo.model().partition(" family ")[0]  # which follows a name without numbers
    assert named in text or named == OURS or "CPU implementer" in text
    lines = [line for line in text.lower().splitlines() if line.startswith(("flags", "features"))]
    words = set(lines[0].split(":")[1].split()) if lines else set()
    assert cpuinfo.computes_in("bfloat16") == bool(words & {"avx512_bf16", "amx_bf16", "bf16"})
    assert cpuinfo.computes_in("float16") == bool(words & {"avx512_fp16", "amx_fp16", "asimdhp"})


def test_the_clock_is_the_maximum_or_that_of_a_virtual_machine(tmp_path: Path) -> None:
    assert cpuinfo.clock_mhz(0, str(tmp_path)) is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text("processor\t: 0\ncpu MHz\t\t: 2596.136\n")
    assert cpuinfo.clock_mhz(0, str(tmp_path)) == 2596.136
    folder = tmp_path / "sys/devices/system/cpu/cpu3/cpufreq"
    folder.mkdir(parents=True)
    (folder / "cpuinfo_max_freq").write_text("3900000\n")
    assert cpuinfo.clock_mhz(3, str(tmp_path)) == 3900
    assert cpuinfo.clock_mhz(0, str(tmp_path)) == 2596.136
