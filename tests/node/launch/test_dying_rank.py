"""One rank of a real run is killed in the midst of its measurement."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: a dying rank of a DDP run")

SOON_S = 30
# Tells when a worker begins to measure, and which process it is.
SITECUSTOMIZE = """
import os, sys, threading, time

def tell():
    while not hasattr(sys.modules.get("hpcbench_carried.node.measurement.timing"), "measure"):
        time.sleep(0.01)
    sampling = sys.modules["hpcbench_carried.node.measurement.timing"]
    measure = sampling.measure

    def told(*arguments, **named):
        path = os.path.join(os.path.dirname(__file__), os.environ["HPCBENCH_RANK"])
        with open(path + ".part", "w") as file:
            file.write(str(os.getpid()))
        os.replace(path + ".part", path)
        return measure(*arguments, **named)

    sampling.measure = told

if "work" in sys.orig_argv:
    threading.Thread(target=tell, daemon=True).start()
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs; not run: a dying rank of two")
@pytest.mark.parametrize("dying", [0, 1])
def test_the_other_rank_ends_soon_and_the_record_names_the_dead_one_and_the_signal(
    tmp_path: Path,
    make_folder: Callable[..., Any],
    clean_environment: dict[str, str],
    wait_until: Callable[..., None],
    dying: int,
) -> None:
    spy = tmp_path / "spy"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(SITECUSTOMIZE)
    environment = {**clean_environment, "PYTHONPATH": str(spy)}
    folder = make_folder(model="mlp", task="training", strategy="ddp", tasks_per_node=2)
    folder.measure(min_time_s=600.0, max_time_s=600.0)
    log = tmp_path / "log.out"
    with log.open("w") as output:
        words = folder.spawn_words(2, 1, folder.words("rank"))
        launcher = subprocess.Popen(words, env=environment, stdout=output, stderr=output)
    try:
        wait_until(lambda: (spy / "0").exists() and (spy / "1").exists())
        workers = [int((spy / str(rank)).read_text()) for rank in (0, 1)]
        os.kill(workers[dying], signal.SIGKILL)
        status = launcher.wait(timeout=SOON_S)
    finally:
        launcher.kill()
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    record = folder.record(status, environment, log=str(log))
    assert record["status"] == "failed"
    assert (record["error"]["rank"], record["error"]["signal"]) == (dying, "SIGKILL"), record["error"]
    assert record["error"]["message"] == f"rank {dying} was killed by SIGKILL"
    assert [rank["rank"] for rank in record["ranks"]] == [0, 1]
    assert record["measurements"] is None
