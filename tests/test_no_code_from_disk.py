"""Nothing that is read from a disk is run or unpickled: no part of hpcbench calls what would do that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hpcbench

PACKAGE = Path(hpcbench.__file__).parent
OTHERS = [PACKAGE.parent / "configs", PACKAGE.parent / "benchmarks", PACKAGE.parent / "tools"]
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "jsonpickle",
    "imp",
    "runpy",
}
NAMES = {"eval", "exec", "compile", "__import__"}
METHODS = {
    *(
        "read_pickle",
        "unsafe_load",
        "full_load",
        "load_all",
        "unsafe_load_all",
        "spec_from_file_location",
        "SourceFileLoader",
    ),
    *("os.system", "os.popen", "yaml.load", "submitit.Job", "torch.load", "numpy.load", "np.load"),
}


def found_in(text: str) -> Iterator[str]:
    """What the code of a file calls, or imports, that could run what it reads."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (name for name in names if name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            settings = {each.arg: ast.unparse(each.value) for each in node.keywords}
            if called in NAMES or called in METHODS or called.rpartition(".")[2] in METHODS:
                safe = settings.get("allow_pickle") == "False" or settings.get("weights_only") == "True"
                yield from [] if safe else [called]
            if settings.get("shell") == "True" or settings.get("allow_pickle") == "True":
                yield called


@pytest.mark.parametrize(
    "line",
    [
        *(
            "import pickle",
            "from pickle import load",
            "import joblib.memory",
            "eval(text)",
            "exec(text)",
            "compile(a, b, c)",
        ),
        *("yaml.load(file)", "pandas.read_pickle(file)", "os.system(text)", "subprocess.run(text, shell=True)"),
        *(
            "torch.load(file)",
            "torch.load(file, weights_only=False)",
            "np.load(file)",
            "numpy.load(f, allow_pickle=True)",
        ),
    ],
)
def test_what_would_run_a_file_is_found(line: str) -> None:
    assert list(found_in(line))


@pytest.mark.parametrize(
    "line", ["numpy.load(file, allow_pickle=False)", "re.compile(text)", "json.load(file)", "model.eval()"]
)
def test_what_reads_data_is_not(line: str) -> None:
    assert not list(found_in(line))


def test_no_part_of_hpcbench_runs_or_unpickles_what_it_reads() -> None:
    files = [file for folder in (PACKAGE, *OTHERS) for file in folder.rglob("*.py")]
    assert len(files) > 150
    found = {str(file): called for file in files if (called := list(found_in(file.read_text(encoding="utf-8"))))}
    assert found == {str(PACKAGE / "node/workload/user_file.py"): ["importlib.util.spec_from_file_location"]}, (
        "the only file that is run is the operator that the user's experiment names"
    )


def test_what_submitit_pickles_is_never_asked_for() -> None:
    """A job of submitit has `result`, `results`, `exception`, `wait`, which unpickle; its state and `cancel` do not."""
    for file in (PACKAGE / "submit").glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        asked = {"result", "results", "exception", "exceptions"} & {getattr(called, "attr", "") for called in calls}
        assert not asked, file
