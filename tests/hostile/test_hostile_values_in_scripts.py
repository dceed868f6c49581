"""Whatever a value is, a script that bash runs gives it to programs unchanged, and does nothing else with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

import pytest

from hpcbench.config.expressions import ExpressionError, Resolver, is_expression
from hpcbench.core.run_spec import SHELL
from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan
from hpcbench.store.sweep import Sweep
from tests.hostile.values import Hostile, document

pytestmark = pytest.mark.integration

PYTHON = sys.executable
Tries = Callable[[int], int]
Bash = Callable[..., bytes]
Swept = Callable[..., Sweep]


def batches(values: list[str], size: int) -> Iterator[list[str]]:
    waiting = iter(values)
    while batch := list(islice(waiting, size)):
        yield batch


def seen_by(witness: Path, kind: str) -> list[list[str]]:
    """What each call of the witness was given; forgotten afterwards."""
    files = sorted(witness.parent.glob(f"{kind}.*"), key=lambda file: file.stat().st_mtime_ns)
    calls = [file.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1] for file in files]
    for file in witness.parent.glob("*.*"):
        file.unlink()
    return calls


def test_variables_of_the_site_arrive_unchanged(
    tries: Tries, hostile: Hostile, witness: Path, swept: Swept, bash: Bash
) -> None:
    for values in batches(hostile.values(tries(2500)), 1250):
        given = {f"V{number}": value for number, value in enumerate(values)}
        sweep = swept({"environments": {"command": {"python": str(witness), "env": given}}})
        seen_by(witness, "arguments")  # forget that it was asked what packages it has
        bash(str(sweep.paths.script("job-001")), "0")
        environments = seen_by(witness, "environment")
        assert environments
        for environment in environments:
            variables = dict(entry.split("=", 1) for entry in environment)
            assert {name: variables.pop(name, None) for name in given} == given
            assert variables.keys() <= {"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_"}


def test_values_that_no_file_can_carry_are_refused(tries: Tries, hostile: Hostile) -> None:
    for value in hostile.unwritable(tries(100)):
        with pytest.raises(UserError):
            document({"env": {"A": value}})
        with pytest.raises(UserError):
            document({value: "A"})


def test_values_in_a_command_arrive_unchanged_where_they_are_quoted(
    tries: Tries, hostile: Hostile, planned: Callable[..., Plan], tmp_path: Path, bash: Bash
) -> None:
    command = "printf '%s\\0' {{ note | quote }}"
    script = tmp_path / "commands.sh"
    for values in batches(hostile.values(tries(1000)), 1000):
        plain = list(dict.fromkeys(value for value in values if not is_expression(value)))
        parameters = {"framework": "command", "command": command}
        plan = planned(user_parameters=["note"], parameters=parameters, matrix={"note": plain})
        assert [case.user_parameters["note"] for case in plan.cases] == plain
        commands = [case.parameters.command or "" for case in plan.cases]
        arriving = list(plain)
        for value in set(values) - set(plain):  # expressions of the user's own, as long as they are some
            resolver = Resolver({"note": value, "command": command})
            try:
                commands.append(resolver.parameter("command"))
            except ExpressionError:
                continue
            arriving.append(str(resolver.parameter("note")))
        script.write_text("\n".join(commands), newline="")
        assert bash(*SHELL[1:-1], str(script)).decode() == "".join(f"{value}\0" for value in arriving)


def test_words_of_modules_and_containers_arrive_unchanged(
    tries: Tries, hostile: Hostile, witness: Path, swept: Swept, bash: Bash, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness.with_name("podman").symlink_to(witness)
    path = f"{witness.parent}:/usr/bin:/bin"
    calls = witness.with_name("calls")  # of a function, which starts no process: the number of words, and each word
    for number, values in enumerate(batches(hostile.values(tries(300)), 150)):
        words = [value for value in values if "\n" not in value]
        if number % 2:
            names = [word for word in words if not word.startswith("-")]
            environment = {"python": str(witness), "modules": names, "module_paths": names}
            sweep = swept({"environments": {"command": environment}})
            loads = "MODULEPATH=$MODULEPATH:$2 LOADEDMODULES=$LOADEDMODULES:$2"
            module = {"BASH_FUNC_module%%": f"""() {{ printf '%s\\0' "$#" "$@" >> "{calls}"; {loads}; }}"""}
            calls.write_bytes(b"")
            bash(str(sweep.paths.script("job-001")), "0", PATH=path, **module)
            expected = [["2", kind, name] for kind in ("use", "load") for name in names]
            assert calls.read_bytes().decode("utf-8", "surrogateescape").split("\0") == [*chain(*expected), ""]
        else:
            container = {"runtime": "podman", "image": "image", "options": words}
            with monkeypatch.context() as real:
                real.setattr(sys, "executable", PYTHON)  # of the driver, outside of the container
                sweep = swept({"environments": {"command": {"container": container, "python": "a " + words[0]}}})
            bash(str(sweep.paths.script("job-001")), "0", PATH=path, status=1)
            (call,) = [call for call in seen_by(witness, "arguments") if "rank" in call]
            end = [*words, "image", "a " + words[0], str(sweep.paths.jobs / "node.pyz"), "rank"]
            start = len(call) - 1 - call[::-1].index("image") - len(words)
            assert call[start : start + len(end)] == end


def test_words_of_srun_arrive_unchanged_with_a_fake_srun(
    tries: Tries, hostile: Hostile, witness: Path, swept: Swept, bash: Bash
) -> None:
    fake = witness.with_name("srun")
    fake.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo slurm 23.02.1 || exec "{witness}" srun "$@"\n')
    fake.chmod(0o755)
    slurm = {
        "PATH": f"{witness.parent}:/usr/bin:/bin",
        "SLURM_JOB_ID": "7",
        "SLURM_ARRAY_TASK_ID": "0",
        "SLURM_ARRAY_JOB_ID": "7",
    }
    for words in batches(hostile.values(tries(250)), 250):
        site = {"scheduler": "slurm", "launcher": {"srun": words}}
        sweep = swept({**site, "environments": {"command": {"python": PYTHON}}})
        bash(str(sweep.paths.script("job-001")), **slurm, status=1)
        calls = seen_by(witness, "arguments")
        (call,) = [call for call in calls if call[0] == "srun" and "rank" in call]
        start = call.index("--kill-on-bad-exit=1") + 1
        assert call[start : start + len(words) + 1] == [*words, PYTHON]


def test_values_in_a_template_of_the_workspace_arrive_unchanged(
    tries: Tries, hostile: Hostile, swept: Swept, tmp_path: Path, bash: Bash
) -> None:
    own = tmp_path / "workspace" / "templates" / "job.sh.j2"
    own.parent.mkdir(parents=True)
    own.write_text("printf '%s\\0'{% for value in environment.env.values() %} {{ value | sh }}{% endfor %}\n")
    for values in batches(hostile.values(tries(250)), 250):
        env = {f"V{number}": value for number, value in enumerate(values)}
        sweep = swept({"environments": {"command": {"env": env}}})
        assert bash(str(sweep.paths.script("job-001"))).decode() == "".join(f"{value}\0" for value in values)


def test_parameters_and_tags_reach_the_node_unchanged_and_no_script(
    tries: Tries, hostile: Hostile, swept: Swept
) -> None:
    scripts = set()
    for values in batches(hostile.values(tries(250)), 250):
        plain = list(dict.fromkeys(value for value in values if not is_expression(value)))
        sweep = swept(
            user_parameters=["note"], matrix={"note": plain}, parameters={"framework": "command", "command": "true"}
        )
        runs = [run for job in sweep.job_names for run in sweep.runs(job)]
        assert sorted(run.user_parameters["note"] for run in runs) == sorted(plain)
        assert {path.name for path in sweep.paths.jobs.glob("*/*")} == {"job-001", "job.sh.j2"}
        text = sweep.paths.script("job-001").read_text()
        for varies in (sweep.paths.name, f" {len(plain)} "):
            text = text.replace(varies, "")
        scripts.add(text)
    assert len(scripts) == 1
