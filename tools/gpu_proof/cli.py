"""The command line of tools/gpu-proof."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import (
    checkup,
    driver,
    energy,
    foreign,
    frameworks,
    gpu_tests,
    install,
    models,
    operators,
    own,
    predict,
    summary,
    wheels,
)
from .bench import Bench
from .steps import FAILED, Ended, Step, run_steps

DESCRIPTION = """\
Test hpcbench on a machine with an NVIDIA GPU, Python 3.10 or newer and torch. No network is needed.
Write summary.md, summary.json, log.txt, cases.csv, predictions.csv, page.html and workspace.tar.gz (all records) into
one folder.
If a step fails or cannot run, the others still run. Only --change-clocks changes clocks or power limits.

If packages are missing: run `tools/gpu-proof wheels DIR` on a machine with a network, then use `--wheels DIR` here.
"""
EPILOG = "Exit status: 0 no step failed; 1 a step failed; 2 usage error, or the machine lacks what every step needs."
BUDGET_S = 520.0
CLOCKS = "clocks"  # the only step that changes the state of the GPU


# Steps that show most in little time, or that measure no time, come first; the page uses the results of all others.
STEPS: tuple[Step[Bench], ...] = (
    Step("nvml", "each function of NVML that hpcbench calls", 5, 30, driver.nvml),
    Step("tests", "the tests of the PyTorch adapter on a GPU", 30, 90, gpu_tests.adapter),
    Step("strategies", "single, DDP and FSDP on one device", 30, 60, frameworks.sharded),
    Step("cache", "compilations during the steps above, for the step compiled", 0, 45, models.finish_compiling),
    Step("own-model", "a model of the user, with accumulation and clipping", 20, 60, own.model),
    Step("own-loop", "a training loop of the user, by hpcbench_probe", 10, 40, own.loop),
    Step("operators", "operators with validated results and gradients", 25, 60, operators.validated),
    Step("tf32", "TF32 behind hpcbench's back is found by the validation", 15, 40, operators.with_tf32),
    Step("energy", "power and energy compared with the device's energy counter", 50, 80, energy.power_and_energy),
    Step("throttling", "throttle reasons compared with those of NVML", 0, 10, energy.throttle_reasons),
    Step("foreign", "another process on the GPU is detected", 35, 70, foreign.foreign_process),
    Step("doctor", "the checks of doctor, and peaks", 45, 100, checkup.doctor),
    Step("profile", "the operators of a network, with power and energy", 40, 90, operators.profile),
    Step(CLOCKS, "the same in other clock states, with --change-clocks", 90, 240, operators.clocks),
    Step("eager", "all models, training, eager, float32 and bfloat16", 40, 170, models.eager),
    Step("jax", "JAX and PyTorch with the same workload", 40, 90, frameworks.jax_and_pytorch),
    Step("memory", "a batch that does not fit is out_of_memory", 35, 50, models.out_of_memory),
    Step("compiled", "all models, inference, compiled, bfloat16 and float32", 60, 400, models.compiled),
    Step("predict", "networks predicted from a profile of others, then measured", 90, 360, predict.predict),
    Step("frameworks", "the tests of whole sweeps on a GPU", 400, 1800, gpu_tests.frameworks),
    Step("page", "the table of all cases, and the page with rooflines", 5, 60, checkup.page, reserve_s=0.0),
)


def main(arguments: Sequence[str]) -> int:
    """Run a command; return its exit status."""
    if arguments[:1] == ["wheels"]:
        return _wheels(arguments[1:])
    parser = argparse.ArgumentParser("gpu-proof", description=DESCRIPTION, epilog=EPILOG, formatter_class=_Plain)
    parser.add_argument("step", nargs="*", help="run only these steps, e.g. predict")
    parser.add_argument(
        "--out", type=Path, default=Path("gpu-proof"), help="folder for the results [default: gpu-proof]"
    )
    parser.add_argument("--wheels", type=Path, help="folder of `gpu-proof wheels`, for missing packages")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="total time in seconds [default: %(default)g]")
    parser.add_argument("--steps", help="run only these steps, separated by commas")
    parser.add_argument("--list", action="store_true", help="list the steps")
    parser.add_argument(
        "--device", choices=["gpu", "cpu"], default="gpu", help="cpu: rehearse with a mock NVML [default: gpu]"
    )
    parser.add_argument(
        "--change-clocks", action="store_true", help=f"also run the step {CLOCKS}: it locks the clock, and restores it"
    )
    given = parser.parse_args(arguments)
    end_s = time.monotonic() + given.budget
    try:
        return _prove(given, end_s)
    except install.NotReadyError as missing:
        print(f"error: gpu-proof cannot run on this machine: {missing}", file=sys.stderr)
        return 2


def _wheels(arguments: Sequence[str]) -> int:
    about = "Collect the packages that a machine without a network lacks. Needs pip, a network and Python 3.11."
    parser = argparse.ArgumentParser("gpu-proof wheels", description=about)
    parser.add_argument("folder", type=Path, help="an empty or new folder")
    parser.add_argument("--python", default="3.12", help="version of Python there [default: %(default)s]")
    parser.add_argument("--installed", type=Path, help="output of `pip list` there: leave these packages out")
    parser.add_argument("--limit", type=float, default=60.0, help="maximum total size in MiB [default: %(default)g]")
    given = parser.parse_args(arguments)
    installed = wheels.installed_in(given.installed.read_text()) if given.installed else frozenset()
    return wheels.collect(given.folder, given.python, installed, given.limit)


def default_steps(change_clocks: bool) -> list[str]:
    """Return the names of the steps that run if the user selects none."""
    return [step.name for step in STEPS if step.name != CLOCKS or change_clocks]


def _prove(given: argparse.Namespace, end_s: float) -> int:
    names = [step.name for step in STEPS]
    if given.list:
        print("\n".join(names))
        return 0
    chosen = [*given.step, *(given.steps or "").split(",")] if given.step or given.steps else []
    chosen = [name for name in chosen if name] or default_steps(given.change_clocks)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        print(f"error: unknown step '{unknown[0]}'; steps: {', '.join(names)}", file=sys.stderr)
        return 2
    install.check_machine(given.device)
    given.out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="gpu-proof-"))
    try:
        return _prove_in(scratch, given, chosen, end_s)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _prove_in(scratch: Path, given: argparse.Namespace, chosen: Sequence[str], end_s: float) -> int:
    out = given.out.resolve()
    python, modules = install.prepare(scratch / "venv", given.wheels and given.wheels.resolve())
    machine = install.describe(python, given.device)
    workspace = scratch / "workspace"
    workspace.mkdir()
    names = ["pytorch", *(["jax"] if modules.issuperset(frameworks.JAX_NEEDS) else [])]
    environments = {name: {"python": python} for name in names}
    site = {"name": "gpu-proof", "scheduler": "local", "environments": environments}
    (workspace / "site.yaml").write_text(json.dumps(site))
    bench = Bench(python, workspace, out / summary.LOG, given.device, modules, given.change_clocks)
    for name in (*summary.FILES, checkup.TABLE, checkup.PAGE, predict.TABLE):  # of an earlier call
        (out / name).unlink(missing_ok=True)
    bench.log.write_text("")
    ended: list[Ended] = []

    def report(step: Ended) -> None:
        ended.append(step)
        print(f"{step.name}: {step.outcome.status} ({step.seconds:.0f} s)", flush=True)
        summary.write(out, machine, ended, bench.is_rehearsal)
        summary.pack(out, workspace)

    if {"cache", "compiled"} <= set(chosen):
        models.start_compiling(bench)
    run_steps([step for step in STEPS if step.name in chosen], bench, end_s, report)
    print(f"\n{(out / summary.SUMMARY).read_text()}\nResults: {out}")
    return int(any(step.outcome.status == FAILED for step in ended))


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keep the lines of the description."""
