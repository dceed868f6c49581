"""What all tests share: running the real command line in a workspace of its own."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hpcbench.submit.zipapp import node_zipapp
from tests import forked, in_process
from tests.cluster.damaged import tallies

# A shell starts what runs in the background with it ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.examples", "tests.fixtures.mock_nvml", "tests.fixtures.records", "tests.fixtures.scripts"]

TIMEOUT_S = 500
HPCBENCH = Path(sys.executable).with_name("hpcbench")
TOOLS = Path(__file__).parents[1] / "tools"
OWN = {"python": sys.executable}  # the environment in which the tests run
OF_SHELL = "PYTEST_SHELL_"  # before names; users' processes do not have variables of pytest
# What `make environments` builds, and where plain pytest looks for it.
ENVIRONMENTS = Path(os.environ.get("HPCBENCH_ENVS") or Path.home() / ".cache" / "hpcbench" / "environments")


# Tests that ask a process of a framework, which answers all those of its framework.
ASKING = re.compile(
    r"tests/frameworks/test_"
    r"(?:backward|communication|equal_work|external|horovod|jax|keras|operators|optimizers|real_data|trajectories"
    r"|validation_of_networks|validation_of_zoo)\.py::\w+"
    r"\[(tensorflow|keras-tensorflow|pytorch|keras-torch|jax|keras-jax|mxnet)[-\]]"
)
# Tests of one worker: they share a cluster, a process of a framework, a sweep, or figures that are made once.
# They begin in this order, before all others: tests on a cluster take longest, and mostly wait.
TOGETHER = (
    *(("tests/cluster/damaged/",), ("tests/cluster/",)),
    *((f"asking {name}",) for name in ("tensorflow", "keras-tensorflow", "pytorch", "keras-torch", "jax", "keras-jax")),
    *(("asking mxnet",), tuple(f"tests/frameworks/test_{name}.py" for name in ("zoo", "validation_of_zoo"))),
    *(("tests/frameworks/test_real_data.py",), ("tests/frameworks/test_settings_in_effect.py",)),
    *((f"tests/frameworks/test_{name}.py",) for name in ("tensorflow", "mxnet", "onnxruntime")),
    tuple(f"tests/commands/inspect/test_{name}.py" for name in ("list", "logs", "open")),
    *(("tests/commands/setup/test_archive.py",), ("tests/commands/inspect/test_show.py",)),
    ("tests/commands/run/test_sweep_rerun.py",),
    ("tests/commands/run/test_operators_of_pytorch.py",),
    *((f"tests/commands/analyse/test_{name}.py",) for name in ("compare", "report_files", "report_html")),
    (
        *(f"tests/report/charts/test_{name}.py" for name in ("charts", "theme")),
        *("tests/report/export/test_figure_files.py", "tests/report/export/test_latex_markdown.py"),
    ),
    *((f"tests/report/charts/test_{name}.py",) for name in ("resources", "history")),
    *(("tests/report/html/test_build_page.py",), ("tests/report/html/test_history.py",)),
    *(("tests/report/terminal/test_status.py",), ("tests/report/terminal/test_threads.py",)),
)
OTHERS = len(TOGETHER)


def place_of(nodeid: str) -> int:
    """The place in TOGETHER of a test, OTHERS if it is not one of them."""
    asking = ASKING.match(nodeid)
    name = f"asking {asking[1]}" if asking else nodeid
    return next((place for place, group in enumerate(TOGETHER) if name.startswith(group)), OTHERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By a hook, since pytest-xdist 3.8 does not see the groups of its own marker under pytest 9."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            place = place_of(nodeid)
            return nodeid if place == OTHERS else TOGETHER[place][0]

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            given = self.assigned_work[node]  # it keeps all that has ended, and is counted after each test
            for scope in [scope for scope, tests in given.items() if all(tests.values())]:
                del given[scope]
            super().mark_test_complete(node, item_index, duration)

    config.option.loadscopereorder = False  # the groups with most tests are not those that take longest
    return Scheduling(config, log)


def pytest_configure() -> None:
    """Let idle OpenMP threads of this process sleep instead of spin: the other workers need the CPUs.

    OpenMP runtimes read the variable when test modules import them. It is removed before the first test: the processes
    that tests start do not have it. Nor do they have variables of OpenBLAS from the shell, which hpcbench warns of and
    records; `of_openblas` has them.
    """
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    for name in [name for name in os.environ if name.startswith("OPENBLAS_")]:
        os.environ[OF_SHELL + name] = os.environ.pop(name)


def of_openblas() -> dict[str, str]:
    """Return the variables of OpenBLAS in the shell: on some CPUs, the older releases in environments need them."""
    length = len(OF_SHELL)
    return {name[length:]: value for name, value in os.environ.items() if name.startswith(OF_SHELL)}


# Fixtures of tests that start hpcbench, its node code, another Python, or what installs fonts.
PROCESSES = {"command_line", "zipapp", "drive", "quick_python", "somebody_else", "fonts"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of tests that the marks given with -m exclude, if they import what takes seconds."""
    unwanted = [mark for mark in ("torch", "browser", "integration") if f"not {mark}" in config.option.markexpr]
    if collection_path.name in unwanted and collection_path.is_dir():
        return True
    if not unwanted or not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    whole_file = re.compile(rf"^pytestmark = [^(]*\bpytest\.mark\.({'|'.join(unwanted)})\b", re.MULTILINE)
    return True if whole_file.search(collection_path.read_text()) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "environment_python" in fixtures:
            item.add_marker(pytest.mark.framework)
        if not PROCESSES.isdisjoint(fixtures):
            item.add_marker(pytest.mark.integration)
    items.sort(key=lambda item: (place_of(item.nodeid), _process_asked(item)))


def _process_asked(item: pytest.Item) -> int:
    """Sort the tests that ask a framework: one rank, several, in Horovod's environment; then those that do not ask."""
    fixtures = getattr(item, "fixturenames", ())
    if "asked" not in fixtures:
        return 3
    if "horovod" in item.nodeid:
        return 2
    return int("ask_ranks" in fixtures or "two_ranks" in item.nodeid or "test_communication" in item.nodeid)


def pytest_collection_finish() -> None:
    """Keep what has been imported and collected out of the garbage collection; remove the variable of OpenMP."""
    gc.collect()
    gc.freeze()
    os.environ.pop("OMP_WAIT_POLICY", None)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    """Remove the variable that names the test: the packages of a Python are queried once per equal environment.

    Restore the environment after each test: variables that a library sets, e.g. scikit-learn for OpenMP, or gloo, would
    change the measurements of the next test. scikit-learn also sets its two variables if a fixture imports it.
    """
    name = os.environ.pop("PYTEST_CURRENT_TEST", "")
    for variable in ("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"):
        os.environ.pop(variable, None)
    before = dict(os.environ)
    try:
        return (yield)
    finally:
        for variable in os.environ.keys() - before.keys():
            del os.environ[variable]
        os.environ.update(before)
        os.environ["PYTEST_CURRENT_TEST"] = name


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the tests have counted, in whatever worker they ran: hostile values, and sweeps that met a fault."""
    tried: dict[str, int] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            values = sum(count for name, count in report.user_properties if name == "hostile values")
            tried[outcome] = tried.get(outcome, 0) + (values if report.when == "call" else 0)
    if sum(tried.values()):
        failed = len(
            [r for r in terminalreporter.stats.get("failed", ()) if dict(r.user_properties).get("hostile values")]
        )
        what = "in which one reached a shell, an option or a path outside the sweep"
        terminalreporter.write_line(f"{sum(tried.values()):,} hostile values tried; tests {what}: {failed}")
    ended = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    told = tallies.summary(ended)
    if told:
        terminalreporter.write_line(told)


@dataclass
class CommandLine:
    """The installed `hpcbench`, called as a user calls it, from a workspace folder."""

    workspace: Path
    environment: dict[str, str] = field(default_factory=dict)
    within: list[str] = field(default_factory=list)  # a command that runs the rest of its words
    before: Callable[[], None] | None = None  # a function of a module, called first in the process of each command
    here: bool = False  # in the process of the test
    limits: dict[str, Any] = field(default_factory=dict)  # of each site
    timeout_s: float = TIMEOUT_S

    def __call__(
        self, *arguments: str, expect: int | None = 0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        variables = {**self.variables, **(env or {})}
        if self.within:
            command = [*self.within, str(HPCBENCH), *arguments]
            done = subprocess.run(
                command, cwd=self.workspace, env=variables, capture_output=True, text=True, timeout=self.timeout_s
            )
        elif self.here:
            done = in_process.hpcbench(arguments, self.workspace, variables)
        else:
            done = forked.hpcbench(arguments, self.workspace, variables, self.timeout_s, self.before)
        assert "Traceback" not in done.stderr, done.stderr
        if expect is not None:
            assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(HPCBENCH), *arguments],
            cwd=self.workspace,
            env={**self.variables, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def variables(self) -> dict[str, str]:
        return {**forked.of_a_user(), **self.environment}

    def experiment(self, file: str = "trial", **sections: Any) -> str:
        """Write an experiment of a tiny network; `sections` replace or extend its top-level keys."""
        content: dict[str, Any] = {
            "name": file,
            "parameters": {"framework": "pytorch", "model": "mlp", "model_options": {"hidden_size": 16}},
            "measure": {"max_warmup_s": 0.0, "min_time_s": 0.05, "max_time_s": 0.1, "repetitions": 1, "retries": 0},
            "slurm": {"time": "00:02:00", "mem": "1G"},
        }
        for key, value in sections.items():
            merge = isinstance(value, dict) and key in content
            content[key] = {**content[key], **value} if merge else value
        (self.workspace / f"{file}.yaml").write_text(json.dumps(content))
        return f"{file}.yaml"

    def site(self, name: str = "here", **sections: Any) -> str:
        content: dict[str, Any] = {"name": name, "scheduler": "local", "environments": {"pytorch": OWN}, **sections}
        if self.limits:
            content["limits"] = {**self.limits, **content.get("limits", {})}
        (self.workspace / f"{name}-site.yaml").write_text(json.dumps(content))
        return f"{name}-site.yaml"

    def records(self) -> list[dict[str, Any]]:
        files = sorted(self.workspace.glob("results/*/records/**/*.jsonl"))
        lines = (line for file in files for line in file.read_text().splitlines(keepends=True))
        return [json.loads(line) for line in lines if line.endswith("\n")]  # the last one may be being written

    def report(self, *arguments: str, expect: int = 0) -> list[dict[str, str]]:
        done = self("report", *arguments, "--csv", "-", expect=expect)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def states(self, *arguments: str) -> dict[str, int]:
        states: dict[str, int] = json.loads(self("status", *arguments, "--json").stdout)["states"]
        return states


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def invoke(tmp_path: Path) -> CommandLine:
    """The command line in the process of the test, for what only reads and plans: no fork, no server."""
    return CommandLine(tmp_path, here=True)


@pytest.fixture
def somebody_else() -> Iterator[None]:
    """Processes that take two CPUs of this machine."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for hog in hogs:
        hog.kill()
        hog.wait()


SCONTROL = """case "$*" in
*config*) cat <<'END'
ClusterName = here
MinJobAge = 600 sec
AccountingStorageType = accounting_storage/slurmdbd
END
;;
*'show job'*) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1;;
esac"""


@pytest.fixture
def fake_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put shell scripts of these names on a PATH that has nothing else but a few tools. They run in the folder
    that is returned, where each also writes its arguments, a line for each, to NAME.called. With a squeue, there is
    also an scontrol, whose slurmctld does not know any job."""
    for name in [name for name in os.environ if name.startswith(("SLURM_", "SBATCH_"))]:
        monkeypatch.delenv(name)
    folder = tmp_path / "fake commands"
    folder.mkdir()
    for tool in ("env", "cat", "sleep"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(folder))

    def fake(**scripts: str) -> Path:
        if "squeue" in scripts and not (folder / "scontrol").exists():
            scripts = {"scontrol": SCONTROL, **scripts}
        for name, text in scripts.items():
            script = folder / name
            script.unlink(missing_ok=True)  # it may be a link to a real tool, which writing would go through to
            script.write_text(
                f'#!/bin/sh\ncd "{folder}"\nprintf "%s\\n" "$@" >> {name}.called\n{text}\n', errors="surrogateescape"
            )
            script.chmod(0o755)
        return folder

    return fake


@pytest.fixture(scope="session")
def zipapp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node code as each sweep carries it."""
    path = tmp_path_factory.mktemp("zipapp") / "node.pyz"
    path.write_bytes(node_zipapp())
    return path


@pytest.fixture(scope="session")
def environment_python() -> Callable[[str], Path]:
    """The Python of an environment that `make environments` built; a test that needs another one is skipped."""

    def python(name: str) -> Path:
        if not (ENVIRONMENTS / name / "hpcbench.json").exists():
            reason = f"{ENVIRONMENTS / name} is not built: make environments, or environments-all"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        return ENVIRONMENTS / name / "bin" / "python"

    return python


@pytest.fixture
def with_environments(
    command_line: CommandLine, environment_python: Callable[[str], Path]
) -> Callable[..., CommandLine]:
    """The command line, with these of the built environments; without this, it sees none."""

    def use(*names: str) -> CommandLine:
        for name in names:
            environment_python(name)
        command_line.environment.update(of_openblas(), HPCBENCH_ENVS=str(ENVIRONMENTS))
        return command_line

    return use


def _made_by(tool: str) -> Path:
    """The folder or file that a script of tools/ makes for the tests, or finds made, and prints."""
    made = subprocess.run(["flock", TOOLS / tool, TOOLS / tool], capture_output=True, text=True)  # one worker at a time
    if made.returncode:
        unavailable(f"tools/{tool} cannot work here: {made.stderr.strip()}")
    return Path(made.stdout.strip())


def unavailable(reason: str) -> NoReturn:
    """What a test needs cannot be had here, which in CI is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def debian() -> Callable[[str], None]:
    """Installs a package of Debian."""

    def install(package: str) -> None:
        done = subprocess.run([TOOLS / "packages", package], capture_output=True, text=True)
        if done.returncode:
            unavailable(f"{package} cannot be installed here: {done.stderr.strip()}")

    return install


@pytest.fixture(scope="session")
def container_image() -> Path:
    """A folder with Debian 12 and its Python, for Charliecloud, which is installed."""
    return _made_by("image")


@pytest.fixture(scope="session")
def module_packages() -> Path:
    """A folder with Lmod and environment-modules, unpacked. One of them is installed."""
    return _made_by("modules")


@pytest.fixture(scope="session")
def mpi_compilers() -> Path:
    """The folder with mpicc.mpich and mpicc.openmpi, which are installed."""
    return _made_by("mpi")


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The program of a Chromium, which is installed where there is none."""
    return _made_by("browser")


@pytest.fixture(scope="session")
def fonts() -> Path:
    """The folder of Liberation's fonts, which are installed: with DejaVu's alone, figures are a few percent wider."""
    import vl_convert

    folder = _made_by("fonts")
    vl_convert.register_font_directory(str(folder))  # a figure may have been drawn in this process before
    return folder


@pytest.fixture
def wait_until() -> Callable[..., None]:
    def wait(condition: Callable[[], object], seconds: float = 60) -> None:
        import time

        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.3)

    return wait
