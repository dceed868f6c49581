from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from hpcbench.config.environment_variables import Variables, check_no_given_secret, check_no_secret
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError

TEMPLATES = Path(__file__).parents[2] / "templates"
CHECK = TypeAdapter(Variables)


def accepted(name: str, value: Any = "1") -> dict[str, str]:
    return CHECK.validate_python({name: value})


@pytest.mark.parametrize(
    "name",
    [
        *("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "NCCL_IB_PKEY", "http_proxy", "LD_LIBRARY_PATH", "PYTHONPATH"),
        *("KMP_BLOCKTIME", "SLURM_CPU_BIND", "SLURM_MPI_TYPE", "PMIX_MCA_gds", "HF_HOME", "XLA_FLAGS"),
    ],
)
def test_a_variable_of_a_program_is_accepted(name: str) -> None:
    assert accepted(name, 1) == {name: "1"}


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "my_password", "SLURM_JWT", "X_TOKENS"],
)
def test_a_variable_that_looks_like_a_secret_is_refused_with_another_way(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} looks like a secret.*export it in your shell"):
        accepted(name)


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "IFS", "UID", "SECONDS", "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "_", "1A"]
)
def test_a_variable_that_is_not_for_a_file_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is set by Slurm, bash or|is not the name"):
        accepted(name)


def test_no_variable_of_a_site_can_be_one_of_the_job_scripts_own() -> None:
    text = re.sub(r"{%.*?%}", "", (TEMPLATES / "job.sh.j2").read_text())
    own = set(re.findall(r"(?:^|[;{(]|\bdo|\bif|\bthen|\[\]?|\s)\s*([A-Za-z_]+)\+?=(?!=)[^=]", text, re.MULTILINE))
    own |= set(re.findall(r"\bfor ([a-z_]+) in\b", text))
    own -= {"PATH", "USER"}  # of every shell
    assert own == {"HPCBENCH_SET_UP", "file", "old", "path", "python", "shell_variables", "sweep"}
    for name in own:
        with pytest.raises(ValueError, match="is set by Slurm, bash or the job script itself"):
            accepted(name)


@pytest.mark.parametrize("value", ["x" * 60_000, "漢" * 20_000])
def test_a_variable_with_which_no_program_starts_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="A exceeds the limit"):
        accepted("A", value)
    with pytest.raises(ValueError, match=r"V\d+ exceeds the limit"):
        CHECK.validate_python({f"V{number}": value[:19_000] for number in range(40)})


@pytest.mark.parametrize(
    "line",
    [
        *(
            "export HF_TOKEN=hf_abcdef",
            "HF_TOKEN='hf_abcdef' ./train",
            'cd x && MY_PASSWORD="a bcdef" run',
            "A=1 API_KEY=2abcdef",
        ),
        "export A_SECRET=abcdef$(hostname)",
    ],
)
def test_a_line_with_a_secret_in_it_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="looks like a secret"):
        check_no_secret(line)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "export HF_TOKEN=$(cat ~/.token)",
            'HF_TOKEN="$OTHER" ./train',
            "echo $HF_TOKEN",
            "OMP_NUM_THREADS=4 ./train",
        ),
        *(
            "HF_TOKEN= ./train",
            "HF_TOKEN=`cat x`",
            "export TOKENIZERS_PARALLELISM=false",
            "./run --key=column_name max_tokens=512 sort_key=column_name --num-tokens=512",
        ),
    ],
)
def test_a_line_that_fetches_its_secret_has_none_in_it(line: str) -> None:
    assert check_no_secret(line) == line


@pytest.mark.parametrize(
    "word",
    [
        *("--env=HF_TOKEN=hf_abc", "HF_TOKEN=x", "-eHF_TOKEN=hf_abc", "--export=ALL,API_KEY=abcdefgh"),
        *("ALL,OMP_NUM_THREADS=4,API_KEY=abcdefgh", "--env HF_TOKEN=hf_abc"),
    ],
)
def test_an_option_that_sets_a_secret_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="looks like a secret"):
        check_no_given_secret(word)


@pytest.mark.parametrize(
    "word",
    [
        *("--env=HF_TOKEN", "-eHF_TOKEN", "ALL,API_KEY", "--export=ALL", "--authfile=/x/auth.json", "--env=API_KEY="),
        *(
            "--env=TOKENIZERS_PARALLELISM=false",
            "--mount=type=bind,src=/a,dst=/b",
            "--mpi=pmix",
            "--env=OMP_NUM_THREADS=4",
        ),
    ],
)
def test_an_option_that_only_passes_a_secret_on_is_taken(word: str) -> None:
    assert check_no_given_secret(word) == word


@pytest.mark.parametrize(
    "text",
    [
        "launcher: {srun: ['--export=ALL,API_KEY=abcdefgh']}",
        "slurm: {options: {export: 'ALL,API_KEY=abcdefgh'}}",
        "environments: {a: {container: {runtime: podman, image: x, options: ['--env=API_KEY=abcdefgh']}}}",
        "environments: {a: {container: {runtime: podman, image: x, gpu_options: ['--env=API_KEY=abcdefgh']}}}",
    ],
)
def test_no_option_of_a_site_sets_a_secret(text: str) -> None:
    with pytest.raises(UserError, match="API_KEY looks like a secret"):
        load_site(parse_yaml(f"name: c\nscheduler: slurm\n{text}\n", "site.yaml"))
