"""The model and native 16-bit arithmetic of the processors, from /proc/cpuinfo, which differs between architectures."""

import os
from typing import Dict, List, Optional

_CPUINFO = "proc/cpuinfo"
_MAX_CLOCK = "sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq"  # in kHz
# Flags for arithmetic, not just conversion, in a 16-bit format (x86, then Arm).
_ARITHMETIC_FLAGS = {
    "bfloat16": {"avx512_bf16", "amx_bf16", "bf16"},
    "float16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}
# Arm: the names that lscpu(1) of util-linux prints, by implementer and part number; server processors only.
_IMPLEMENTERS = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x61: "Apple",
    0x6D: "Microsoft",
    0x70: "Phytium",
    0xC0: "Ampere",
}
_PARTS = {
    (0x41, 0xD03): "Cortex-A53",
    (0x41, 0xD07): "Cortex-A57",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0B): "Cortex-A76",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD42): "Cortex-A78AE",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x42, 0x516): "ThunderX2",
    (0x43, 0x0A1): "ThunderX-88XX",
    (0x43, 0x0AF): "ThunderX2-99xx",
    (0x43, 0x0B8): "ThunderX3-T110",
    (0x46, 0x001): "A64FX",
    (0x46, 0x003): "MONAKA",
    (0x48, 0xD01): "TaiShan-v110",
    (0x48, 0xD02): "TaiShan-v120",
    (0x4E, 0x004): "Carmel",
    (0x4E, 0x010): "Olympus",
    (0x50, 0x000): "X-Gene",
    (0x51, 0xC00): "Falkor",
    (0x6D, 0xD49): "Azure-Cobalt-100",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}

Fields = Dict[str, str]  # of one processor, with names in lower case


def model(root: str = "/") -> str:
    """Return the model of the processors (several if they differ), or the architecture if the model is unknown.

    x86 and LoongArch have `model name`; if a hypervisor has shortened it, the numbers of family and model follow it.
    POWER has `cpu`, Arm has implementer and part numbers, RISC-V has `uarch`.
    """
    found = [name for name in map(_named, _processors(root)) if name]
    return ", ".join(dict.fromkeys(found)) or os.uname().machine


def computes_in(dtype: str, root: str = "/") -> bool:
    """Return whether the processor has native arithmetic in a 16-bit dtype."""
    fields: Fields = next((each for each in _processors(root) if "flags" in each or "features" in each), {})
    flags = set((fields.get("flags") or fields.get("features") or "").split())
    return bool(flags & _ARITHMETIC_FLAGS[dtype])


def clock_mhz(cpu: int, root: str = "/") -> Optional[float]:
    """Return the maximum clock of a CPU in MHz, or its current one if the kernel does not control it; None if unknown.

    A virtual machine has the constant clock of its processor.
    """
    try:
        with open(os.path.join(root, _MAX_CLOCK % cpu), encoding="ascii") as file:
            return int(file.read()) / 1e3
    except (OSError, ValueError):
        clock = next((fields["cpu mhz"] for fields in _processors(root) if "cpu mhz" in fields), "")
    try:
        return float(clock)
    except ValueError:
        return None


def _named(fields: Fields) -> Optional[str]:
    name = fields.get("model name") or fields.get("cpu model")
    if name:
        return name if any(map(str.isdigit, name)) else name + _generation(fields)
    if "cpu" in fields:  # `POWER9, altivec supported`
        return fields["cpu"].partition(",")[0]
    if "cpu implementer" in fields:
        return _arm(fields["cpu implementer"], fields.get("cpu part", ""))
    return fields.get("uarch")


def _generation(fields: Fields) -> str:
    """Return family and model numbers: hypervisors hide the names of models, e.g. `AMD EPYC` for any generation."""
    numbers = ["%s %s" % (key.replace("cpu ", ""), fields[key]) for key in ("cpu family", "model") if key in fields]
    return "".join(" " + number for number in numbers)


def _arm(implementer: str, part: str) -> str:
    try:
        made_by, number = int(implementer, 16), int(part, 16)
    except ValueError:
        return "Arm, implementer %s, part %s" % (implementer, part or "unknown")
    known = _PARTS.get((made_by, number))
    return known or "%s, part %s" % (_IMPLEMENTERS.get(made_by, "Arm, implementer %s" % implementer), part)


def _processors(root: str) -> List[Fields]:
    """Return the fields of each processor, up to the first with a model name: the others have the same one."""
    blocks: List[Fields] = [{}]
    try:
        with open(os.path.join(root, _CPUINFO), encoding="utf-8", errors="replace") as file:
            for line in file:
                name, colon, value = line.partition(":")
                if colon:
                    blocks[-1].setdefault(name.strip().lower(), value.strip())
                elif "model name" in blocks[-1]:
                    break
                elif blocks[-1]:
                    blocks.append({})
    except OSError:
        return []
    return blocks
