"""The environment of gpu-proof: this Python's packages, hpcbench of this repository, and wheels for missing ones."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.gpu_proof import install

pytestmark = [pytest.mark.integration, pytest.mark.torch]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A folder with the wheel of a package that no machine has."""
    info = "made_up_package-1.0.dist-info"
    files = {
        "made_up_package.py": "NAME = 'made up'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: made-up-package\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "made_up_package-1.0-py3-none-any.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return folder


def test_it_has_the_packages_of_this_virtual_environment_the_wheels_and_hpcbench(tmp_path: Path, wheel: Path) -> None:
    python, modules = install.prepare(tmp_path / "venv", wheel)
    assert set(install.CORE) <= modules
    program = "import made_up_package, hpcbench, torch, sys; print(hpcbench.__file__, sys.prefix)"
    done = subprocess.run(
        [python, "-E", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == [str(install.REPOSITORY / "hpcbench" / "__init__.py"), str(tmp_path / "venv")]


def test_a_missing_module_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "CORE", (*install.CORE, "made_up_package"))
    with pytest.raises(install.NotReadyError, match="modules not found: made_up_package; collect them on a machine"):
        install.prepare(tmp_path / "venv", None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(install.NotReadyError, match="no wheels in"):
        install.prepare(tmp_path / "venv", tmp_path / "empty")
