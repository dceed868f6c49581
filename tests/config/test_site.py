from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.config.site import Environment, Site, load_site
from hpcbench.config.yaml_document import load_yaml, parse_yaml
from hpcbench.errors import UserError
from hpcbench.util.package_data import shipped


def site(text: str = "") -> Site:
    return load_site(parse_yaml(f"name: cluster\nscheduler: slurm\n{text}", "site.yaml"))


def test_environments_may_share_settings_by_a_merge_key() -> None:
    found = site("environments:\n  pytorch: &own {modules: [gcc], env: {A: b}}\n  jax: {<<: *own, modules: [clang]}\n")
    assert found.environments["jax"].env == found.environments["pytorch"].env == {"A": "b"}
    assert found.environments["jax"].modules == ["clang"]


@pytest.mark.parametrize("file", sorted((shipped("configs") / "sites").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_shipped_site_loads(file: Path) -> None:
    assert load_site(load_yaml(file)).name == file.stem


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("partitons: {}", "site.yaml:3: partitons", "did you mean 'partitions'"),
        ("partitions: {cpu: {max_tim: 1}}", "site.yaml:3: partitions.cpu.max_tim", "did you mean 'max_time'"),
        ("partitions:\n  cpu:\n    nodes: 0", "site.yaml:5: partitions.cpu.nodes", "0 is not valid"),
        ("partitions: {cpu: {max_time: soon}}", "site.yaml:3: partitions.cpu.max_time", "write a time as"),
        ("environments: {pytorch: {pyton: x}}", "site.yaml:3: environments.pytorch.pyton", "did you mean 'python'"),
        ("environments: {pytorch: {env: {1A: x}}}", "site.yaml:3: environments.pytorch.env", "'1A' is not the name"),
        ('environments: {pytorch: {env: {"A;B": x}}}', "site.yaml:3: environments.pytorch.env", "'A;B' is not"),
        ('environments: {pytorch: {setup: ["a\\nb"]}}', "site.yaml:3: environments.pytorch.setup", "several entries"),
        ('environments: {pytorch: {modules: ["a\\nb"]}}', "site.yaml:3: environments.pytorch.modules", "several"),
        ("slurm: {partition: a b}", "site.yaml:3: slurm.partition", "cannot contain ' '"),
        ("cost: {core_hour: -1}", "site.yaml:3: cost.core_hour", "greater than or equal to 0"),
        ("carbon: {g_per_kwh: -1}", "site.yaml:3: carbon.g_per_kwh", "greater than or equal to 0"),
        ("carbon: {pue: 0.9}", "site.yaml:3: carbon.pue", "greater than or equal to 1"),
        ("limits: {max_array_size: 0}", "site.yaml:3: limits.max_array_size", "greater than or equal to 1"),
        (
            "launcher: {srun: [--het-group=0]}",
            "site.yaml:3: launcher.srun",
            "heterogeneous jobs are not supported: --het-group=0",
        ),
        ("launcher: {srun: --mpi=pmix}", "site.yaml:3: launcher.srun", "valid list"),
    ],
)
def test_a_mistake_in_a_site_file_is_refused_with_file_line_and_key(text: str, where: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        site(text)
    assert str(caught.value).startswith(where)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("pytroch", "pytorch"), ("pytorc", "pytorch"), ("tensroflow", "tensorflow"), ("comand", "command")),
        ("horovod-pytroch", "horovod-pytorch"),
        *((name, None) for name in ("pytorch", "torch", "pytorch-ngc", "pytorch2", "keras3-torch", "my-jax", "own")),
    ],
)
def test_a_misspelt_environment_is_refused_with_the_nearest(name: str, meant: str | None) -> None:
    document = parse_yaml(f"name: cluster\nscheduler: slurm\nenvironments:\n  {name}: {{}}\n", "site.yaml")
    known = {path.stem for path in (shipped("configs") / "environments").glob("*.yaml")} | {"command"}
    if meant is None:
        load_site(document, known)
        return
    with pytest.raises(UserError) as caught:
        load_site(document, known)
    assert str(caught.value) == (
        f"site.yaml:4: environments.{name}: unknown environment '{name}'\n  did you mean '{meant}'?"
    )


def test_an_unknown_scheduler_is_refused() -> None:
    with pytest.raises(UserError, match=r"^site.yaml:2: scheduler: 'pbs' is not valid.*'slurm' or 'local'"):
        load_site(parse_yaml("name: a\nscheduler: pbs\n", "site.yaml"))


def test_a_number_in_env_is_text() -> None:
    assert site("environments: {pytorch: {env: {A: 1, B: x}}}").environment("pytorch").env == {"A": "1", "B": "x"}


def test_a_site_need_not_say_anything_about_an_environment() -> None:
    assert site().environment("pytorch") == Environment()


def test_the_default_partition_is_the_one_that_says_so() -> None:
    assert site("partitions: {a: {}, b: {default: true}}").default_partition == "b"
    assert site("partitions: {a: {}}").default_partition is None


def test_of_several_partitions_the_shortest_time_fits_each() -> None:
    found = site("partitions: {a: {max_time: '04:00:00', default: true}, b: {max_time: '12:00:00'}, c: {}}")
    asked = ("b", "b,a", "c,b", "c", "elsewhere", None)
    assert [found.max_time_s(each) for each in asked] == [43200, 14400, 43200, None, None, 14400]


def test_a_partition_knows_its_longest_time_in_seconds() -> None:
    partitions = site("partitions: {a: {max_time: 1-00:00:00}, b: {}}").partitions
    assert (partitions["a"].max_time_s, partitions["b"].max_time_s) == (86400, None)


def test_the_slurm_conf_is_absolute_and_of_the_home_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert site("slurm_conf: /etc/slurm/slurm.conf").slurm_conf == "/etc/slurm/slurm.conf"
    assert site("slurm_conf: ~/slurm.conf").slurm_conf == "/home/me/slurm.conf"
    assert site().slurm_conf is None
    for text in ("slurm.conf", "~nobody-here/slurm.conf", '""', '"/a\\nb"'):
        with pytest.raises(UserError, match=r"^site.yaml:3: slurm_conf: "):
            site(f"slurm_conf: {text}")
