"""Variables come into a record by an allow-list; what looks like a secret does not, wherever it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.core.redaction import REDACTED, Redactor, redacted, slurm_facts
from hpcbench.core.variables.performance import allowed_variables

SECRET = "hunter2-hunter2"  # noqa: S105 - not a real one


@pytest.mark.parametrize(
    "name",
    [
        "OMP_NUM_THREADS",
        "OMP_PROC_BIND",
        "MKL_NUM_THREADS",
        "NCCL_SOCKET_IFNAME",
        "CUDA_VISIBLE_DEVICES",
        "LD_PRELOAD",
        "NVIDIA_TF32_OVERRIDE",
        "KERAS_BACKEND",
        "MALLOC_TRIM_THRESHOLD_",
        "GLIBC_TUNABLES",
    ],
)
def test_settings_that_change_speed_are_kept(name: str) -> None:
    assert allowed_variables({name: "1"}) == {name: "1"}


@pytest.mark.parametrize(
    "name",
    ["HOME", "USER", "MY_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "SLURM_JWT", "OMPLETE", "TFOO", "lower_omp"],
)
def test_all_other_variables_stay_out(name: str) -> None:
    assert allowed_variables({name: SECRET}) == {}


@pytest.mark.parametrize("name", ["TORCH_API_TOKEN", "NCCL_AUTH", "CUDA_LICENSE_KEY", "HOROVOD_SECRET", "TF_PASSWORD"])
def test_a_secret_stays_out_even_where_its_prefix_is_allowed(name: str) -> None:
    assert allowed_variables({name: SECRET}) == {}


def test_slurm_facts_are_the_ids_and_never_the_credential() -> None:
    environment = {
        "SLURM_JOB_ID": "4711",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_JOB_PARTITION": "debug",
        "SLURM_JWT": SECRET,
        "SLURM_SUBMIT_DIR": "/home/someone",
    }
    assert slurm_facts(environment) == {"job_id": "4711", "array_task_id": "3", "job_partition": "debug"}


PLACES: dict[str, Any] = {
    "a message": {"error": {"message": f"login with {SECRET} failed"}},
    "a traceback": {"error": {"last_lines": ["Traceback:", f"  raise Refused('{SECRET}')"]}},
    "a parameter": {"parameters": {"model_options": {"x": SECRET}}},
    "a tag": {"user_parameters": {"note": SECRET}},
    "an allowed variable": {"environment": {"LD_PRELOAD": f"/lib/{SECRET}.so"}},
    "a warning": {"warnings": ["fine", f"leaving failed: {SECRET}"]},
    "a list in a list": {"ranks": [[{"x": [f"{SECRET}{SECRET}"]}]]},
    "the text itself": SECRET,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["MY_API_TOKEN", "wandb_api_key", "DB_PASSWORD", "GOOGLE_CREDENTIALS", "SLURM_JWT"])
def test_the_value_of_a_secret_is_blotted_out_of(place: str, name: str) -> None:
    clean = redacted(PLACES[place], {name: SECRET, "PATH": "/bin"})
    assert SECRET not in json.dumps(clean)
    assert "[redacted]" in json.dumps(clean)


def test_a_record_without_secrets_stays_as_it_is() -> None:
    record = {"measurements": {"times_s": [0.1, 0.2]}, "status": "completed", "n": 3, "x": None, "ok": True}
    assert redacted(record, {"MY_API_TOKEN": SECRET}) == record


@pytest.mark.parametrize("value", ["", "1", "true", "on"])
def test_a_secret_too_short_to_be_one_does_not_blot_out_words(value: str) -> None:
    assert redacted({"message": f"it is {value}"}, {"USE_TOKEN": value}) == {"message": f"it is {value}"}


@pytest.mark.parametrize("order", [("A_TOKEN", "B_TOKEN"), ("B_TOKEN", "A_TOKEN")])
def test_a_secret_that_begins_with_another_one_is_blotted_out_whole(order: tuple[str, str]) -> None:
    values = {"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefghSECRETEND"}
    clean = redacted("it was abcdefghSECRETEND", {name: values[name] for name in order})
    assert "SECRETEND" not in clean


def test_a_secret_of_several_lines_is_blotted_out_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAoI\n-----END KEY-----\n"
    clean = redacted({"last_lines": key.splitlines()}, {"SSH_PRIVATE_KEY": key})
    assert "MIIEvQIBADANBgkqhkiG9w0" not in json.dumps(clean)


def test_a_variable_that_only_names_a_person_does_not_count_as_a_secret() -> None:
    record = {"status": "completed", "sweep": "lstm-threads"}
    assert redacted(record, {"GIT_AUTHOR_NAME": "lstm-threads", "TOX_TESTENV_PASSENV": "lstm-threads"}) == record


@pytest.mark.parametrize("name", ["BORG_PASSPHRASE", "MYSQL_PWD", "DB_PASS", "GITHUB_PAT"])
def test_other_common_names_of_secrets_count_as_well(name: str) -> None:
    assert SECRET not in redacted(f"with {SECRET}", {name: SECRET})


def test_the_working_directory_is_no_secret() -> None:
    assert redacted("in /home/someone", {"PWD": "/home/someone", "OLDPWD": "/home/someone"}) == "in /home/someone"


def test_of_a_secret_that_begins_with_another_one_nothing_is_left_where_a_part_ends_in_it() -> None:
    redactor = Redactor({"A_TOKEN": "abcdef", "B_TOKEN": "abcdefghijkl"})
    assert redactor.fed(b"x abcdefgh") + redactor.fed(b"ijkl\n") == b"x " + REDACTED.encode() + b"\n"
    assert redactor.fed(b"y abcdefgh") + redactor.rest() == b"y " + REDACTED.encode() + b"gh"


@given(st.lists(st.sampled_from(["abcdef", "abcdefghijkl", "abc", "ghi", "jkl", "x"])), st.lists(st.integers(1, 20)))
def test_a_stream_is_blotted_the_same_in_whatever_parts_it_comes(words: list[str], sizes: list[int]) -> None:
    secrets = {"A_TOKEN": "abcdef", "B_TOKEN": "abcdefghijkl"}
    left, passed, redactor = "".join(words).encode(), b"", Redactor(secrets)
    for size in sizes:
        passed += redactor.fed(left[:size])
        left = left[size:]
    passed += redactor.fed(left) + redactor.rest()
    assert passed.decode() == redacted("".join(words), secrets)
