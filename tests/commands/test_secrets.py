"""A program prints its secrets, and they reach no file of the workspace and nothing that is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SECRETS = {
    "HF_TOKEN": "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
    "MY_PASSWORD": "correct horse battery",
    "SSH_PRIVATE_KEY": "-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END-----\n",
}
TELLTALE = [SECRETS["HF_TOKEN"], SECRETS["MY_PASSWORD"], "MIIEvQIBADANBgkqhkiG9w0"]
LEAKY = """
import os, sys, time
token = os.environ["HF_TOKEN"]
for stream in (sys.stdout, sys.stderr):
    for piece in ("token: ", token[:5], token[5:20], token[20:], " and ", os.environ["MY_PASSWORD"], "\\n"):
        stream.write(piece)
        stream.flush()
        time.sleep(0.02)
    print(os.environ["SSH_PRIVATE_KEY"], file=stream)
    # A line longer than what is passed on at once, with the token across each place where it may be cut.
    stream.write("x" * 65510 + token + "y" * 65500 + token + "z" * 200000 + token)
    stream.flush()
print("\\nrate: 7")
open(os.path.join(os.environ["HPCBENCH_RUN"], "file"), "w").write(token)
with open(os.path.join(os.environ["HPCBENCH_RUN"], "out"), "w") as file:
    file.write(token)
sys.exit(int(sys.argv[1]))
"""


def files_with_a_secret(folder: Path) -> list[str]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "leaky.py"]
    assert files
    return [str(file) for file in files if any(secret.encode() in file.read_bytes() for secret in TELLTALE)]


@pytest.fixture
def leaky(command_line):
    (command_line.workspace / "leaky.py").write_text(LEAKY)
    command_line.environment.update(SECRETS)
    return command_line


def experiment(command_line, **sections: object) -> str:
    content = {
        "name": "trial",
        "parameters": {"framework": "command", "command": "python3 leaky.py {{ batch_size }}"},
        "matrix": {"batch_size": [1, 2]},
        "metrics": {"rate": {"regex": "rate: ([0-9]+)"}},
        "measure": {"repetitions": 1, "retries": 0},
        **sections,
    }
    (command_line.workspace / "trial.yaml").write_text(json.dumps(content))
    return "trial.yaml"


@pytest.mark.parametrize("command", ["python3 leaky.py {{ batch_size }}", "python3 leaky.py 0 # {{ batch_size }}"])
def test_what_a_program_prints_of_its_secrets_is_blotted_out_everywhere(command: str, leaky) -> None:
    file = experiment(leaky, parameters={"framework": "command", "command": command})
    done = leaky("sweep", file, "--local", "--no-fail-fast", expect=None)
    shown = leaky("report", "--csv", "table.csv", "--parquet", "table.parquet", expect=None)
    status = leaky("status", "--json")
    assert files_with_a_secret(leaky.workspace) == []
    for text in (done.stdout, done.stderr, shown.stdout, shown.stderr, status.stdout):
        assert not any(secret in text for secret in TELLTALE)
    logs = "".join(log.read_text() for log in leaky.workspace.glob("jobs/*/logs/**/*.out"))
    assert logs.count("token: [redacted] and [redacted]\n") == 4, "two programs, each on two streams"
    assert logs.count("z") >= 4 * 200000, "and nothing else is"
    records = leaky.records()
    if " # " in command:
        assert [record["metrics"]["rate"]["value"] for record in records] == [7, 7]
    else:
        assert "[redacted]" in json.dumps(records)


@pytest.mark.torch
def test_what_a_worker_prints_of_its_secrets_is_blotted_out_with_a_stand_in_for_torch(command_line) -> None:
    folder = command_line.workspace / "fake"
    folder.mkdir()
    said = "import os, sys\nfor s in (sys.stdout, sys.stderr):\n    print('said', os.environ['HF_TOKEN'], file=s)\n"
    (folder / "torch.py").write_text(said + "raise RuntimeError('no ' + os.environ['HF_TOKEN'])\n")
    command_line.environment.update(SECRETS)
    site = command_line.site(environments={"pytorch": {"env": {"PYTHONPATH": str(folder)}}})
    command_line("sweep", command_line.experiment(), "--site", site, expect=1)
    assert files_with_a_secret(command_line.workspace) == []
    (log,) = command_line.workspace.glob("jobs/*/logs/**/*.out")
    assert log.read_text().count("said [redacted]") == 2
    (record,) = command_line.records()
    assert "no [redacted]" in record["error"]["message"]


WRITTEN = {
    "in the command": {"parameters": {"framework": "command", "command": f"./x '{SECRETS['HF_TOKEN']}'"}},
    "in a tag": {"user_parameters": ["note"], "matrix": {"note": ["a", SECRETS["HF_TOKEN"]]}},
    "in the description": {"description": f"with {SECRETS['MY_PASSWORD']}"},
    "in an option": {"slurm": {"options": {"comment": SECRETS["HF_TOKEN"]}}},
}


@pytest.mark.parametrize("where", WRITTEN)
@pytest.mark.parametrize("arguments", [["--local"], ["--dry-run"], ["--render-only"]])
def test_a_secret_that_is_written_in_an_experiment_is_refused(where: str, arguments: list[str], leaky) -> None:
    done = leaky("sweep", experiment(leaky, **WRITTEN[where]), *arguments, expect=2)
    assert "which the sweep would store" in done.stderr
    assert "${" in done.stderr
    assert not any(secret in done.stdout + done.stderr for secret in TELLTALE)
    assert not (leaky.workspace / "jobs").exists()


def test_a_secret_that_is_set_on_the_command_line_or_in_a_site_file_is_refused(leaky) -> None:
    setting = f"description={SECRETS['HF_TOKEN']}"
    assert "HF_TOKEN" in leaky("sweep", experiment(leaky), "--local", "--set", setting, expect=2).stderr
    site = leaky.site(environments={"command": {"env": {"X": SECRETS["HF_TOKEN"]}}})
    assert "site file of 'here'" in leaky("sweep", experiment(leaky), "--site", site, expect=2).stderr
    site = leaky.site(environments={"command": {"env": {"HF_TOKEN": "anything"}}})
    done = leaky("sweep", experiment(leaky), "--site", site, expect=2)
    assert "HF_TOKEN looks like a secret" in done.stderr
    assert "export it in your shell" in done.stderr
    assert not (leaky.workspace / "jobs").exists()
