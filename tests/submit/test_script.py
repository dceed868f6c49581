from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpcbench.errors import UserError
from hpcbench.store.sweep import Sweep
from hpcbench.submit.template import quoted
from tests.examples import examples

MakeSweep = Callable[..., Sweep]

HOSTILE = [
    *("it's", '"double"', "$(touch pwned)", "`touch pwned`", "$HOME", "${HOME}", "a;touch pwned", "a b", " a ", "*"),
    *("a\\b", "\\", "!!", "# no comment", "-n", "~", "a&b|c>d", "é", "{{ version }}", "{% raw %}", "a'\"'b", "%A"),
]


def script(sweep: Sweep) -> str:
    return sweep.paths.script("job-001").read_text()


def run(sweep: Sweep, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run element 0 of the first job in real bash."""
    element = ["0"] if sweep.scheduler == "local" else []
    return subprocess.run(
        ["bash", str(sweep.paths.script("job-001")), *element],
        env={"PATH": os.environ["PATH"], "HOME": "/nowhere", **environment},
        cwd=sweep.paths.jobs,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def show(tmp_path: Path) -> Path:
    """A program that appends its arguments and the variable VALUE, each ended by a NUL, to the file `seen`."""
    program = tmp_path / "show"
    program.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" "$VALUE" >> "{tmp_path}/seen"\n')
    program.chmod(0o755)
    return program


def module(then: str = "") -> dict[str, str]:
    """A `module` of the shell that loads everything, and then runs a line."""
    lines = "export LOADEDMODULES=$LOADEDMODULES:$2 MODULEPATH=$MODULEPATH:$2"
    return {"BASH_FUNC_module%%": f"() {{ {lines}; {then or 'true'}; }}"}


def seen(show: Path) -> list[str]:
    return show.with_name("seen").read_bytes().decode().split("\0")


def srun_in(text: str) -> list[str]:
    """The words that the script gives as `--srun`."""
    (line,) = [line for line in text.splitlines() if line.startswith("  --srun ")]
    return shlex.split(shlex.split(line.rstrip("\\"))[1])


def srun_is(show: Path) -> dict[str, str]:
    """The variables of a job whose srun is `show`."""
    show.rename(show.with_name("srun"))
    return {"PATH": f"{show.parent}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0"}


def assert_bash_accepts(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("scheduler", ["slurm", "local"])
@pytest.mark.parametrize(
    "site",
    [
        "{}",
        "modules: [gcc/12, python]\n    setup: ['ulimit -c 0', 'source x']\n    env: {A: b}",
        "modules: [gcc/12]\n    env: {A: '$x'}\n    container: {runtime: apptainer, image: 'a b.sif'}",
        "container: {runtime: charliecloud, image: /image}",
    ],
)
def test_bash_accepts_the_script(scheduler: str, site: str, make_sweep: MakeSweep) -> None:
    assert_bash_accepts(script(make_sweep(site=site, scheduler=scheduler)))


def test_a_script_says_all_that_slurm_needs_in_sbatch_lines(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(
        "  strategy: ddp\n  nodes: 2\n  tasks_per_node: 3\n  cpus_per_task: 4\n  device: gpu\n"
        "slurm: {time: 00:10:00, partition: gpu, account: me, exclusive: true, mem_per_cpu: 2G, max_running: 2, "
        "options: {mail-type: END, mcs-label: x, nice: 5, spread-job: false}}\nmeasure: {repetitions: 3}"
    )
    lines = [line for line in script(sweep).splitlines() if line.startswith("#SBATCH")]
    assert lines == [
        "#SBATCH --job-name=study-1.job-001",
        "#SBATCH --array=0-2%2",
        f"#SBATCH --output={sweep.paths.logs('job-001')}/%A_%a_0_log.out",
        "#SBATCH --open-mode=append",
        "#SBATCH --requeue",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=3",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --time=00:10:00",
        "#SBATCH --gres=gpu:3",
        "#SBATCH --partition=gpu",
        "#SBATCH --account=me",
        "#SBATCH --mem-per-cpu=2G",
        "#SBATCH --exclusive",
        "#SBATCH --mail-type=END",
        "#SBATCH --mcs-label=x",
        "#SBATCH --nice=5",
    ]
    assert script(sweep).splitlines()[1 : 1 + len(lines)] == lines  # sbatch stops looking at the first command


def test_srun_is_told_its_cpus_itself(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("  strategy: ddp\n  nodes: 2\n  tasks_per_node: 3\n  cpus_per_task: 4")
    words = srun_in(script(sweep))
    assert words[:5] == ["srun", "--nodes=2", "--ntasks=6", "--ntasks-per-node=3", "--cpus-per-task=4"]


def test_a_script_for_this_machine_has_no_sbatch_lines_and_no_srun(make_sweep: MakeSweep) -> None:
    text = script(make_sweep(scheduler="local"))
    assert "#SBATCH" not in text
    assert "srun" not in text
    assert 'job "$sweep/job-001.jsonl" "$@" ' in text


def test_the_template_of_the_workspace_wins(make_sweep: MakeSweep, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "job.sh.j2").write_text("#!/bin/bash\n# mine: {{ job }} {{ 'a b' | sh }}\n")
    assert script(make_sweep(root=tmp_path)) == "#!/bin/bash\n# mine: job-001 'a b'\n"


@pytest.mark.parametrize(
    "template",
    [
        "{{ nope }}",
        "{% for %}",
        "{{ job.__class__.__mro__ }}",
        "{% include 'gone.j2' %}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_bad_template_is_refused_and_named(template: str, make_sweep: MakeSweep, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    file = tmp_path / "templates" / "job.sh.j2"
    file.write_text(template)
    with pytest.raises(UserError, match="template") as caught:
        make_sweep(root=tmp_path)
    assert caught.value.where == str(file)


@pytest.mark.parametrize("value", [*HOSTILE, "two\nlines", "a\rb", ""])
def test_a_variable_of_the_environment_arrives_as_it_is_written(value: str, make_sweep: MakeSweep, show: Path) -> None:
    site = f"python: {show}\n    env: {yaml.safe_dump({'VALUE': value}, default_flow_style=True, width=10**6).strip()}"
    sweep = make_sweep(site=site, scheduler="local")
    run(sweep)
    assert value in seen(show)
    assert not (sweep.paths.jobs / "pwned").exists()


def test_words_of_a_container_arrive_as_they_are_written(make_sweep: MakeSweep, show: Path) -> None:
    """`show` stands for podman, and for the Python beside the container too."""
    show.rename(show.with_name("podman"))
    words = yaml.safe_dump(HOSTILE, default_flow_style=True, width=10**6).strip()
    container = f'{{runtime: podman, image: "an image\'s name", options: {words}}}'
    sweep = make_sweep(site=f"container: {container}\n    python: /in the/container's python", scheduler="local")
    run(sweep, PATH=f"{show.parent}:{os.environ['PATH']}")
    given = [*HOSTILE, "an image's name", "/in the/container's python", str(sweep.paths.jobs / "node.pyz"), "rank"]
    arguments = seen(show)
    start = arguments.index(HOSTILE[0])
    assert arguments[start : start + len(given)] == given
    assert not (sweep.paths.jobs / "pwned").exists()


def test_the_driver_of_a_container_runs_outside_of_it(make_sweep: MakeSweep) -> None:
    text = script(make_sweep(site="container: {runtime: podman, image: x}", scheduler="local"))
    assert f"\npython={sys.executable} " in text
    (line,) = [line for line in text.splitlines() if line.startswith("  --python ")]
    words = shlex.split(shlex.split(line)[1])
    assert (words[0], words[-2:]) == ("podman", ["x", "python3"])


def test_outside_of_a_container_where_the_python_that_rendered_is_missing_the_nodes_own_drives(
    make_sweep: MakeSweep, show: Path
) -> None:
    show.rename(show.with_name("python3"))
    sweep = make_sweep(site="container: {runtime: podman, image: x}", scheduler="local")
    sweep.paths.script("job-001").write_text(
        script(sweep).replace(f"python={sys.executable}", "python=/no/such/python")
    )
    run(sweep, PATH=f"{show.parent}:{os.environ['PATH']}")
    assert seen(show)[:3] == ["-Es", str(sweep.paths.jobs / "node.pyz"), "job"]


def test_srun_starts_a_container_of_pyxis_with_a_fake_srun(make_sweep: MakeSweep, show: Path) -> None:
    sweep = make_sweep(site=f"python: {show}\n    container: {{runtime: pyxis, image: ./torch.sqsh}}")
    run(sweep, **srun_is(show))
    root = sweep.paths.jobs.parents[1]
    arguments = seen(show)
    start = arguments.index(f"--container-image={root}/torch.sqsh")
    assert arguments[start + 1 : start + 6] == [
        *(f"--container-mounts={root}:{root}", f"--container-workdir={root}", "--container-env=PYTHONNOUSERSITE"),
        str(show),
        str(sweep.paths.jobs / "node.pyz"),
    ]


def test_a_container_of_pyxis_needs_slurm(make_sweep: MakeSweep) -> None:
    with pytest.raises(UserError, match="'pytorch' is a container of pyxis, which requires srun"):
        make_sweep(site="container: {runtime: pyxis, image: x}", scheduler="local")


def test_the_folders_that_jobs_and_results_are_links_to_are_mounted_too(make_sweep: MakeSweep, tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "workspace", tmp_path / "scratch"
    root.mkdir()
    elsewhere.mkdir()
    (root / "results").symlink_to(elsewhere)
    text = script(make_sweep(site="container: {runtime: podman, image: x}", root=root))
    assert f"--volume={root}:{root} --volume={elsewhere}:{elsewhere} --workdir={root}" in text


def test_modules_are_loaded_as_they_are_written(make_sweep: MakeSweep, show: Path) -> None:
    names = [name for name in HOSTILE if not name.startswith("-")]
    modules = yaml.safe_dump(names, default_flow_style=True, width=10**6).strip()
    sweep = make_sweep(site=f"modules: {modules}\n    python: {show}", scheduler="local")
    run(sweep, **module(f'"{show}" module "$@"'))
    loads = [["module", "load", name, ""] for name in names]  # `show` adds the variable VALUE
    assert seen(show)[: 4 * len(names)] == [word for load in loads for word in load]
    assert not (sweep.paths.jobs / "pwned").exists()


def test_a_module_that_does_not_load_ends_the_script(make_sweep: MakeSweep, show: Path) -> None:
    sweep = make_sweep(site=f"modules: [there, gone, never]\n    python: {show}", scheduler="local")
    done = run(sweep, **module("[ $2 = there ] || { echo no such module >&2; return 1; }"))
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["no such module", "hpcbench: gave up: module load gone failed"]
    assert not show.with_name("seen").exists()


# As in Environment Modules 3.2 (C): an error of a modulefile is written to the error stream, and the status is 0.
OF_MODULES_3 = """module() {
  case $2 in
    gone*) echo "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for '$2'" >&2 ;;
    old) ;;  # has been loaded before
    fast) LOADEDMODULES+=:compiler/gcc/12 ;;  # an alias, or another letter case
    cuda) LOADEDMODULES+=:cuda/12.4 ;;
    *) LOADEDMODULES+=:$2 ;;
  esac
  return 0
}
"""


@pytest.mark.parametrize(
    ("before", "names", "failed"),
    [
        ("", "[gone/99]", "gone/99"),
        ("gone/12", "[gone/99]", "gone/99"),
        ("gone/12", "[cuda, gone/99, never]", "gone/99"),
        ("other/gone", "[gone]", "gone"),
        ("gone-away/1:x", "[gone]", "gone"),
        ("old/12", "[old]", None),
        ("x:old", "[old]", None),
        ("", "[cuda, compiler/gcc/12, fast, /apps/modulefiles/mine]", None),
    ],
)
def test_a_module_that_does_not_load_with_status_0_ends_the_script_with_a_fake_module(
    make_sweep: MakeSweep, show: Path, tmp_path: Path, before: str, names: str, failed: str | None
) -> None:
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "bash").write_text(OF_MODULES_3)
    sweep = make_sweep(site=f"modules: {names}\n    python: {show}", scheduler="local")
    done = run(sweep, MODULESHOME=str(tmp_path), LOADEDMODULES=before)
    assert show.with_name("seen").exists() is (failed is None)
    words = f"ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for '{failed}'"
    expected = [words, f"hpcbench: gave up: module load {failed} failed"] if failed else []
    assert done.stderr.splitlines() == expected


def test_a_folder_that_is_not_used_with_status_0_ends_the_script_with_a_fake_module(
    make_sweep: MakeSweep, show: Path, tmp_path: Path
) -> None:
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "bash").write_text(OF_MODULES_3)
    sweep = make_sweep(site=f"module_paths: [/gone]\n    python: {show}", scheduler="local")
    done = run(sweep, MODULESHOME=str(tmp_path), MODULEPATH="/apps")
    assert done.stderr.splitlines()[-1] == "hpcbench: gave up: module use /gone failed"
    assert "gave up" not in run(sweep, MODULESHOME=str(tmp_path), MODULEPATH="/apps:/gone").stderr


@pytest.mark.parametrize("implementation", ["LMOD_CMD", "MODULES_CMD"])
def test_the_status_of_lmod_and_of_modules_4_suffices_with_a_fake_module(
    make_sweep: MakeSweep, show: Path, implementation: str
) -> None:
    """The shell has loaded the module under another name before, so that nothing changes."""
    sweep = make_sweep(site=f"modules: [gcc/default]\n    python: {show}", scheduler="local")
    loaded = {"LOADEDMODULES": "gcc/12", "BASH_FUNC_module%%": "() { true; }"}
    assert run(sweep, **loaded, **{implementation: "/usr/share/modulecmd"}).stderr == ""
    assert run(sweep, **loaded).stderr == "hpcbench: gave up: module load gcc/default failed\n"


def test_a_line_of_the_set_up_that_fails_ends_the_script_and_is_named(make_sweep: MakeSweep, show: Path) -> None:
    site = f"setup: ['true', 'false || true', '! true', 'test -e /no/such', 'true']\n    python: {show}"
    done = run(make_sweep(site=site, scheduler="local"))
    assert done.returncode == 1
    assert done.stderr == "hpcbench: gave up: the set-up failed at: test -e /no/such\n"
    assert not show.with_name("seen").exists()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("['of_conda() { return 3; }', 'conda() { of_conda; true; }', conda activate mine]", "return 3"),
        ("[source /no/such/activate]", "source /no/such/activate"),
        ("['set -u', 'echo $NOT_SET']", "echo $NOT_SET"),
    ],
    ids=["function", "source", "unset"],
)
def test_the_set_up_also_fails_where_bash_runs_no_trap_for_errors(
    make_sweep: MakeSweep, show: Path, lines: str, words: str
) -> None:
    done = run(make_sweep(site=f"setup: {lines}\n    python: {show}", scheduler="local"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"hpcbench: gave up: the set-up failed at: {words}"
    assert not show.with_name("seen").exists()


def test_names_that_the_set_up_uses_do_not_lead_the_record_elsewhere(make_sweep: MakeSweep, show: Path) -> None:
    lines = "['results=/x', 'sweep=/x', 'job=x', 'element=9', 'elements=(9)', 'batch=x', 'scratch=/x', 'log=/x']"
    sweep = make_sweep(site=f"setup: {lines}\n    python: {show}", scheduler="local")
    run(sweep)
    assert str(sweep.paths.results) in seen(show)
    assert "/x" not in seen(show)


def test_module_paths_come_before_the_modules(make_sweep: MakeSweep, show: Path) -> None:
    sweep = make_sweep(site=f"module_paths: [/a b, $HOME]\n    modules: [c]\n    python: {show}", scheduler="local")
    run(sweep, **module(f'"{show}" "$@"'))
    assert seen(show)[:9] == ["use", "/a b", "", "use", "$HOME", "", "load", "c", ""]


@pytest.mark.parametrize(
    ("site", "set_up"),
    [
        ("modules: [a]", {"LOADEDMODULES", "MODULEPATH"}),
        ("setup: ['export OMP_NUM_THREADS=4', 'export KMP_BLOCKTIME=0']", {"OMP_NUM_THREADS"}),
        ("env: {OMP_NUM_THREADS: '4'}", set()),
    ],
)
def test_the_variables_that_the_set_up_sets_are_told_from_those_of_the_shell(
    make_sweep: MakeSweep, show: Path, site: str, set_up: set[str]
) -> None:
    show.write_text(show.read_text().replace("$VALUE", "$HPCBENCH_SET_UP"))
    sweep = make_sweep(site=f"{site}\n    python: {show}", scheduler="local")
    done = run(sweep, OMP_NUM_THREADS="1", KMP_BLOCKTIME="0", ONE="1\n2=3", **module())
    assert done.stderr == ""
    names = set(seen(show)[-2].split())
    assert set_up <= names
    assert not {"KMP_BLOCKTIME", "ONE", "PATH", "HOME"} & names
    assert ("OMP_NUM_THREADS" in names) == ("OMP_NUM_THREADS" in set_up)


@pytest.mark.parametrize(
    ("site", "seen_inside"),
    [("", ""), ("setup: ['true']", "/mine"), ("modules: [x]", "/mine"), ("env: {PYTHONPATH: /ours}", "/ours")],
)
def test_packages_of_the_shell_that_submits_get_in_only_by_the_sites_will(
    site: str, seen_inside: str, make_sweep: MakeSweep, show: Path
) -> None:
    show.write_text(show.read_text().replace("$VALUE", "$PYTHONPATH"))
    sweep = make_sweep(site=f"{site}\n    python: {show}".lstrip(), scheduler="local")
    run(sweep, PYTHONPATH="/mine", **module())
    assert seen(show)[-2] == seen_inside


def test_what_pip_put_into_the_home_is_not_seen_in_a_container(make_sweep: MakeSweep) -> None:
    site = "container: {runtime: podman, image: x}"
    assert "export PYTHONNOUSERSITE=1\n" in script(make_sweep(site=site))
    own = site + "\n    env: {PYTHONNOUSERSITE: ''}"
    assert "export PYTHONNOUSERSITE=''\n" in script(make_sweep(site=own, name="study-2"))


def test_after_the_set_up_a_failure_is_not_one_of_the_set_up(make_sweep: MakeSweep, show: Path) -> None:
    show.write_text(show.read_text() + "exit 7\n")
    done = run(make_sweep(site=f"setup: ['true']\n    python: {show}", scheduler="local"))
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.parametrize(
    "folder",
    [
        "a b",
        "it's mine",
        '"$(touch pwned)"',
        "`touch pwned`;*",
    ],
)
def test_a_workspace_with_any_name_works_on_this_machine(
    folder: str, make_sweep: MakeSweep, show: Path, tmp_path: Path
) -> None:
    sweep = make_sweep(site=f"python: {show}", scheduler="local", root=tmp_path / folder)
    assert_bash_accepts(script(sweep))
    done = run(sweep)
    assert done.stderr == ""
    assert str(sweep.paths.jobs / "node.pyz") in seen(show)
    assert str(sweep.paths.results) in seen(show)
    assert not (sweep.paths.jobs / "pwned").exists()


def test_extra_arguments_of_srun_arrive_as_they_are_written(make_sweep: MakeSweep, show: Path) -> None:
    words = yaml.safe_dump(HOSTILE, default_flow_style=True, width=10**6).strip()
    sweep = make_sweep(site=f"python: {sys.executable}\nlauncher:\n  srun: {words}")
    run(sweep, **srun_is(show))
    arguments = seen(show)
    start = arguments.index(HOSTILE[0])
    assert arguments[start : start + len(HOSTILE) + 1] == [*HOSTILE, sys.executable]


def test_a_value_that_no_script_can_carry_is_refused(make_sweep: MakeSweep) -> None:
    with pytest.raises(UserError, match=r"contains .\\x00"):
        make_sweep(site='env: {A: "a\\0b"}')


@settings(derandomize=True, deadline=None, max_examples=examples(50))
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=20))
@example(HOSTILE)
def test_a_quoted_word_is_one_word_of_bash_whatever_is_in_it(words: list[str]) -> None:
    program = "printf '%s\\0' " + " ".join(map(quoted, words))
    done = subprocess.run(["bash", "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == words


COMMAND = "include: [{framework: command, command: ./bench, model: null%s}]"


@pytest.mark.parametrize(
    ("text", "first"),
    [(COMMAND % ", environment: pytorch", True), (COMMAND % "", False), ("", False)],
    ids=["its environment", "no environment", "no command"],
)
def test_a_command_finds_the_programs_of_its_environment_first(
    text: str, first: bool, make_sweep: MakeSweep, tmp_path: Path
) -> None:
    """As after `activate`; that the Python that runs hpcbench has some, too, is no reason to find those."""
    programs = tmp_path / "its env" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "pyvenv.cfg").touch()
    (programs / "python").symlink_to(sys.executable)
    rendered = script(make_sweep(text, f"python: {programs}/python"))
    assert (f"export PATH='{programs}':$PATH" in rendered) == first
    assert_bash_accepts(rendered)


def test_the_python_that_a_site_names_is_found_first_and_the_systems_where_it_is(
    make_sweep: MakeSweep, show: Path
) -> None:
    named = script(make_sweep(COMMAND % ", environment: pytorch", f"python: {show}"))
    assert f"export PATH={show.parent}:$PATH" in named
    systems = make_sweep(COMMAND % ", environment: pytorch", "python: /bin/sh", name="study-2")
    assert "export PATH" not in script(systems)


@pytest.mark.parametrize(
    ("retry", "option"), [("{}", "requeue"), ("{max: 0}", "no-requeue"), ("{on: [failed]}", "no-req")]
)
def test_slurm_starts_a_job_anew_only_where_the_experiment_retries(
    retry: str, option: str, make_sweep: MakeSweep
) -> None:
    assert f"#SBATCH --{option}" in script(make_sweep(f"retry: {retry}"))


def test_side_by_side_a_job_asks_for_what_all_of_them_need(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(
        "  device: gpu\n  cpus_per_task: 2\nmatrix: {seed: {range: [1, 9]}}\nmeasure: {repetitions: 1}\n"
        "slurm: {time: '00:10:00', pack_walltime: '00:10:00', pack: parallel, partition: a, mem: 4G, gpu_type: v100}",
        "{}\npartitions: {a: {cpus_per_node: 8, gpus_per_node: 3, memory_mb_per_node: 100000}}",
    )
    lines = [line.removeprefix("#SBATCH --") for line in script(sweep).splitlines() if line.startswith("#SBATCH")]
    assert {"array=0-2", "ntasks-per-node=3", "cpus-per-task=2", "mem=12G", "gres=gpu:v100:3"} <= set(lines)
    assert {"--gres=gpu:v100:1", "--ntasks=1"} <= set(srun_in(script(sweep)))


@pytest.mark.parametrize(
    ("option", "of_job", "of_run"),
    [
        ("gres", "gres=gpu:a100:8", "--gres=gpu:a100:4"),
        ("gpus-per-node", "gpus-per-node=a100:8", "--gpus-per-node=a100:4"),
        ("gpus-per-task", "gpus-per-task=a100:2", "--gpus-per-task=a100:2"),
    ],
)
def test_gpus_are_requested_by_one_option_in_the_job_and_its_runs(
    option: str, of_job: str, of_run: str, make_sweep: MakeSweep
) -> None:
    """Two runs at a time, each of two tasks with two GPUs."""
    slurm = f"time: '00:10:00', pack_walltime: '00:10:00', partition: a, gpu_type: a100, gpu_option: {option}"
    text = script(
        make_sweep(
            "  device: gpu\n  tasks_per_node: 2\n  gpus_per_task: 2\n  strategy: ddp\n"
            f"matrix: {{seed: [1, 2]}}\nmeasure: {{repetitions: 1}}\nslurm: {{{slurm}, pack: parallel}}",
            "{}\npartitions: {a: {cpus_per_node: 8, gpus_per_node: 8}}",
        )
    )
    requests = [line for line in text.splitlines() if line.startswith(("#SBATCH --gres", "#SBATCH --gpus"))]
    assert requests == [f"#SBATCH --{of_job}"]
    assert [word for word in srun_in(text) if word.startswith(("--gres", "--gpus"))] == [of_run]


def test_a_site_without_gres_requests_no_gpus(make_sweep: MakeSweep) -> None:
    text = script(make_sweep("  device: gpu\nslurm: {gpu_option: none, exclusive: true}"))
    assert "#SBATCH --exclusive\n" in text
    assert "--gres" not in text
    assert "--gpus" not in text
    parallel = "time: '00:10:00', pack_walltime: '00:10:00', pack: parallel, partition: a, gpu_option: none"
    partitions = "{}\npartitions: {a: {cpus_per_node: 8, gpus_per_node: 8}}"
    with pytest.raises(UserError, match=r"slurm\.gpu_option: none cannot be used with slurm\.pack: parallel"):
        make_sweep(f"  device: gpu\nslurm: {{{parallel}}}", partitions, name="study-2")


def test_a_component_of_a_heterogeneous_job_gives_up_by_name(make_sweep: MakeSweep) -> None:
    text = script(make_sweep("slurm: {partition: gpu}"))
    done = subprocess.run(["bash"], input=text, env={"SLURM_HET_SIZE": "2"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "hpcbench: gave up: heterogeneous jobs are not supported\n")


@pytest.mark.parametrize("version", ["2.7", "3.6"])
def test_an_old_python_of_a_node_gives_up_with_the_version_that_is_required(
    version: str, make_sweep: MakeSweep
) -> None:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here; not run: a job script under it")
    sweep = make_sweep(site=f"python: {sys.executable}", scheduler="local")
    text = script(sweep).replace(f"python={sys.executable}", f"python={found[0]}")
    sweep.paths.script("job-001").write_text(text)
    said = run(sweep).stderr
    assert said.startswith(f"hpcbench: gave up: Python 3.8 or newer is required; {found[0]} is {version}.")


@pytest.mark.parametrize("site", ["modules: [a, b]\n    module_paths: [/m]\n    env: {A: b}", "setup: [x, y]", "{}"])
def test_a_script_is_what_a_person_would_write(site: str, make_sweep: MakeSweep) -> None:
    text = script(make_sweep("slurm: {partition: gpu, account: me, exclusive: true}", site))
    assert len(text.splitlines()) <= 80
    assert text.count('exec "$python" -Es "$sweep/node.pyz" job ') == 1, "one line starts the driver"
