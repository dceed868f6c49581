"""Running scripts of this folder in the environments of the frameworks, as the ranks of a case."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.frameworks import SETTING_NAMES
from hpcbench.core.variables.worker import for_worker
from hpcbench.node.launch.preload import found
from tests.conftest import ENVIRONMENTS

HERE = Path(__file__).parent
TIMEOUT_S = 300

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


@pytest.fixture
def start(zipapp: Path, environment_python: Callable[[str], Path]) -> Iterator[Callable[..., Any]]:
    """Start a script in the environment of a framework, as `ranks` that the local launcher would have started."""
    started: list[subprocess.Popen[str]] = []

    def start(
        script: str,
        *words: object,
        framework: str,
        environment: str | None = None,
        ranks: int = 1,
        threads: tuple[int | None, int | None] = (1, None),
        cpus: set[int] | None = None,
        settings: dict[str, Any] | None = None,
        **variables: object,
    ) -> list[subprocess.Popen[str]]:
        named = dict(zip(("intra_op_threads", "inter_op_threads"), threads, strict=True))
        asked = {"framework": framework, "device": "cpu", **dict.fromkeys(SETTING_NAMES), **named, **(settings or {})}
        for rank in range(ranks):
            place = {"HPCBENCH_RANK": rank, "HPCBENCH_RANKS": ranks, "HPCBENCH_LAUNCHER": os.getpid()}
            own = {name: str(value) for name, value in {**place, "PYTHONPATH": zipapp, **variables}.items()}
            started.append(
                subprocess.Popen(
                    [environment_python(environment or framework), HERE / script, *map(str, words)],
                    env={
                        **for_worker(asked, os.environ, found(asked, os.environ)),
                        **kept_by(environment or framework),
                        **own,
                    },
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
                )
            )
        return started[-ranks:]

    yield start
    for process in started:
        process.kill()
        process.wait()  # not for its pipes, which a server that lives on would hold open
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()


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
