"""The mock of NVIDIA's library, compiled once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("mock_nvml.c")


@pytest.fixture(scope="session")
def mock_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a mock libnvidia-ml.so.1, for LD_LIBRARY_PATH."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here; not run: what needs the mock of NVML")
    folder = tmp_path_factory.mktemp("mock-nvml")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-lm"], check=True, timeout=60)
    return folder
