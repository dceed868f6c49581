"""What nvidia-smi says of GPUs, by a fake one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult
from hpcbench.node.checks import gpu_settings
from hpcbench.node.host import gpus as driver

USUAL = {
    "name": "NVIDIA A100-SXM4-80GB",
    "driver_version": "550.54.15",
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "ecc.mode.current": "Enabled",
    "power.limit": "400.00",
    "power.default_limit": "400.00",
    "utilization.gpu": "0",
    "memory.used": "4",
    "mig.mode.current": "Disabled",
}

SMI = """#!/bin/sh
case $1 in
  *{refused}*) echo 'Field "{refused}" is not a valid field to query.'; exit 2;;
  --query-gpu=*) printf '%s' '{rows}';;
  --query-compute-apps=*) printf '%s' '{processes}';;
esac
"""


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a script on the PATH that answers with these GPUs and processes."""

    def fake(*rows: dict[str, str], processes: str = "", refused: str = "nothing", script: str = "") -> None:
        fields = [field for field in USUAL if field != refused]
        lines = "".join(", ".join(row[field] for field in fields) + "\n" for row in rows)
        file = tmp_path / "nvidia-smi"
        file.write_text(script or SMI.format(rows=lines, processes=processes, refused=refused))
        file.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return fake


def by_subject(found: list[CheckResult]) -> dict[str, tuple[str, str]]:
    return {finding.subject: (finding.level, finding.found) for finding in found}


def test_gpus_that_are_set_as_usual_are_one_line_with_a_fake_nvidia_smi(lay, nvidia_smi) -> None:
    nvidia_smi(USUAL, USUAL)
    assert by_subject(gpu_settings.check(lay({}))) == {"GPUs": (OK, "2 GPUs: NVIDIA A100-SXM4-80GB, driver 550.54.15")}


def test_an_old_driver_that_knows_no_mig_is_asked_without_with_a_fake_nvidia_smi(lay, nvidia_smi) -> None:
    nvidia_smi(USUAL, refused="mig.mode.current")
    assert by_subject(gpu_settings.check(lay({}))) == {"GPUs": (OK, "1 GPU: NVIDIA A100-SXM4-80GB, driver 550.54.15")}


@pytest.mark.parametrize(
    ("changes", "subject", "level", "words"),
    [
        ({"persistence_mode": "Disabled"}, "GPU persistence", NOTE, "off on GPU 1"),
        ({"compute_mode": "Exclusive_Process"}, "GPU compute mode", NOTE, "Exclusive_Process on GPU 1"),
        ({"compute_mode": "Prohibited"}, "GPU compute mode", PROBLEM, "Prohibited on GPU 1"),
        ({"ecc.mode.current": "Disabled"}, "GPU ECC", WARNING, "on on GPU 0, off on GPU 1"),
        ({"mig.mode.current": "Enabled"}, "MIG", NOTE, "on on GPU 1"),
        ({"power.limit": "300.00"}, "GPU power limit", NOTE, "300 of 400 W on GPU 1"),
        ({"utilization.gpu": "97"}, "GPU load", WARNING, "GPU 1 97 %, 4 MiB in use"),
        ({"name": "NVIDIA V100"}, "GPUs", WARNING, "NVIDIA A100-SXM4-80GB, NVIDIA V100"),
    ],
)
def test_a_gpu_that_is_set_otherwise_is_named_with_a_fake_nvidia_smi(
    lay, nvidia_smi, changes: dict[str, str], subject: str, level: str, words: str
) -> None:
    nvidia_smi(USUAL, {**USUAL, **changes})
    found = by_subject(gpu_settings.check(lay({})))
    assert found[subject][0] == level
    assert words in found[subject][1]
    assert len(found) == (1 if subject == "GPUs" else 2)


def test_what_a_gpu_does_not_tell_is_no_finding_with_a_fake_nvidia_smi(lay, nvidia_smi) -> None:
    unknown = ("ecc.mode.current", "power.limit", "power.default_limit", "utilization.gpu", "mig.mode.current")
    nvidia_smi({**USUAL, **dict.fromkeys(unknown, "[N/A]")})
    assert set(by_subject(gpu_settings.check(lay({})))) == {"GPUs"}


def test_processes_of_others_are_named_with_a_fake_nvidia_smi(lay, nvidia_smi) -> None:
    nvidia_smi(USUAL, processes="1234, python, 512")
    assert by_subject(gpu_settings.check(lay({})))["GPU processes"] == (WARNING, "1234, python, 512")


@pytest.mark.parametrize(
    ("script", "device", "level"),
    [
        ("#!/bin/sh\necho 'No devices were found'; exit 6", False, OK),
        ("#!/bin/sh\necho 'No devices were found'; exit 6", True, NOTE),
        ("#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", True, PROBLEM),
    ],
    ids=["no GPU", "a GPU for others", "a broken driver"],
)
def test_an_nvidia_smi_without_gpus_says_why_with_a_fake_one(
    lay, nvidia_smi, script: str, device: bool, level: str
) -> None:
    nvidia_smi(script=script)
    (finding,) = gpu_settings.check(lay({"dev/nvidia0": ""} if device else {}))
    assert finding.level == level
    assert ("version mismatch" in finding.found) == (level == PROBLEM)


@pytest.mark.parametrize(
    ("count", "files", "level", "found"),
    [
        (2, {}, OK, "2 GPUs, according to the driver; settings unknown"),
        (0, {}, OK, "none"),
        (0, {"dev/kfd": ""}, PROBLEM, "/dev/kfd exists, but the driver shows no GPU"),
    ],
)
def test_without_nvidia_smi_the_driver_counts_with_a_fake_one(
    lay, monkeypatch: pytest.MonkeyPatch, count: int, files: dict[str, str], level: str, found: str
) -> None:
    monkeypatch.setattr(gpu_settings.shutil, "which", lambda name: None)
    monkeypatch.setattr(driver, "count", lambda: count)
    (finding,) = gpu_settings.check(lay(files))
    assert (finding.level, finding.found) == (level, found)
