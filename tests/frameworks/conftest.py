"""Running scripts of this folder in the environments of the frameworks, as the ranks of a case."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from hpcbench.core.frameworks import SETTING_NAMES
from hpcbench.core.variables.worker import for_worker
from hpcbench.node.launch.preload import found
from tests.conftest import ENVIRONMENTS, of_openblas
from tests.frameworks.asking import TIMEOUT_S, Asked

HERE = Path(__file__).parent
Ranks = list[subprocess.Popen[str]]

# Compiling is most of the work of many scripts; what was compiled is kept beside the environments.
KEPT = ENVIRONMENTS.parent / "compiled"
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(KEPT / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "TORCHINDUCTOR_CACHE_DIR": str(KEPT / "torch"),
    "TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={KEPT / 'tensorflow'}",
}


def kept_by(environment: str) -> dict[str, str]:
    """Return the variables by which the frameworks of an environment keep what they compile."""
    if environment == "horovod-tensorflow":  # an older TensorFlow, which cannot keep what is compiled for CPUs
        return {name: value for name, value in COMPILED.items() if name != "TF_XLA_FLAGS"}
    return COMPILED


@pytest.fixture(scope="session")
def start_ranks(zipapp: Path, environment_python: Callable[[str], Path]) -> Callable[..., Ranks]:
    """Start a script in the environment of a framework, as `ranks` that the local launcher would have started."""

    def start_ranks(
        script: str,
        *words: object,
        framework: str,
        environment: str | None = None,
        ranks: int = 1,
        threads: tuple[int | None, int | None] = (1, None),
        cpus: Sequence[int] = (),
        settings: dict[str, Any] | None = None,
        stdin: int | None = None,
        stderr: int | IO[str] = subprocess.PIPE,
        **variables: object,
    ) -> Ranks:
        named = dict(zip(("intra_op_threads", "inter_op_threads"), threads, strict=True))
        asked = {"framework": framework, "device": "cpu", **dict.fromkeys(SETTING_NAMES), **named, **(settings or {})}
        shell = {**os.environ, **of_openblas()}
        of_worker = for_worker(asked, shell, found(asked, shell))
        started = []
        for rank in range(ranks):
            place = {"HPCBENCH_RANK": rank, "HPCBENCH_RANKS": ranks, "HPCBENCH_LAUNCHER": os.getpid()}
            own = {name: str(value) for name, value in {**place, "PYTHONPATH": zipapp, **variables}.items()}
            started.append(
                subprocess.Popen(
                    [environment_python(environment or framework), HERE / script, *map(str, words)],
                    env={**of_worker, **kept_by(environment or framework), **own},
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                    preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
                )
            )
        return started

    return start_ranks


@pytest.fixture
def start(start_ranks: Callable[..., Ranks]) -> Iterator[Callable[..., Ranks]]:
    """Start a script as `start_ranks` does; it ends with the test."""
    started: Ranks = []

    def start(*words: object, **settings: Any) -> Ranks:
        ranks = start_ranks(*words, **settings)
        started.extend(ranks)
        return ranks

    yield start
    for process in started:
        process.kill()
        process.wait()  # not for its pipes, which a server that lives on would hold open
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


@pytest.fixture(scope="session")
def asked(start_ranks: Callable[..., Ranks]) -> Iterator[Asked]:
    """Ask one process of a framework the questions of many tests."""
    asked = Asked(start_ranks)
    yield asked
    asked.close()


@pytest.fixture
def ask(asked: Asked) -> Callable[..., Any]:
    """What `main` of a script returns in a process of a framework that answers other tests, too."""
    return lambda *words, **settings: asked.answers(*words, **settings)[0]


@pytest.fixture
def ask_ranks(asked: Asked) -> Callable[..., list[Any]]:
    """What `main` of a script returns on two ranks of a framework that answer other tests, too."""
    return lambda *words, **settings: asked.answers(*words, ranks=2, **settings)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the process of a framework after the last test that asks it."""
    asked = getattr(item, "funcargs", {}).get("asked")
    if asked and "asked" not in getattr(nextitem, "fixturenames", ()):
        asked.close()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """A folder that the first worker that wants it fills, for all workers."""
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made_once(name: str, fill: Callable[[Path], object]) -> Path:
        folder = common / name
        with (common / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                unfinished = common / f"{name}.unfinished"
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                fill(unfinished)
                unfinished.rename(folder)
        return folder

    return made_once


@pytest.fixture
def outputs(start: Callable[..., Any]) -> Callable[..., list[str]]:
    """What the ranks of a script print, once all have ended well."""

    def outputs(*words: object, **settings: Any) -> list[str]:
        processes = start(*words, **settings)
        ended = [(process.communicate(timeout=TIMEOUT_S), process.returncode) for process in processes]
        assert not any(status for _, status in ended), "\n".join(error for (_, error), _ in ended)
        return [output for (output, _), _ in ended]

    return outputs


@pytest.fixture
def answers(outputs: Callable[..., list[str]]) -> Callable[..., list[Any]]:
    """What the ranks of a script answer: the JSON of their last line."""
    return lambda *words, **settings: [json.loads(output.splitlines()[-1]) for output in outputs(*words, **settings)]
