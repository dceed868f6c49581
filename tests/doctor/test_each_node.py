"""The speed of every node, by fake Slurm commands that end each job at once; tests/cluster has a real Slurm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.site import Partition
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult, silent
from hpcbench.core.node_speed import NodeSpeed, Rate
from hpcbench.doctor import each_node, small_jobs
from hpcbench.doctor.each_node import EachNode, SpeedOptions, check_each_node, resources_on
from hpcbench.slurm.nodes import Node
from hpcbench.store.workspace import Workspace

PARTITIONS = {"cpu": Partition(), "debug": Partition()}
SINFO = """
echo 'Welcome to the cluster!'
for node in n1 n2 n3 n4; do echo "$node|cpu*|64|(null)|idle|none"; echo "$node|debug|64|(null)|idle|none"; done
echo 'n5|cpu*|64|(null)|drained|bad memory | since Monday'; echo 'g1|gpu|64|gpu:a100:4(S:0)|idle|none'
"""
# The job of a node gets the number of the node as its ID; its result is there if the test has laid one down.
SBATCH = r"""
while read -r line; do case "$line" in *nodelist=n*) id="${line##*=n}";; esac; done < "$2"
[ -s "refuse-$id" ] && { cat "refuse-$id" >&2; [ -e once ] && : > "refuse-$id"; exit 1; }
name="${2%.sh}"; [ -e "speed-$id" ] && cat "speed-$id" > "$name.speed"
echo "$id"
"""
SQUEUE = """
for id in 1 2 3 4; do
  state=COMPLETED; [ -e "waiting-$id" ] && state=PENDING
  echo "$id|0|$state|0|N/A|N/A|n$id|None|hpcbench-doctor|/x"
done
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_jobs, "POLL_S", 0.02)
    monkeypatch.setattr(each_node, "POLL_S", 0.02)
    monkeypatch.setattr(each_node, "SETTLE_S", 0.0)


def speed(host: str, value: float, load: tuple[CheckResult, ...] = (), missing: tuple[str, ...] = ()) -> NodeSpeed:
    return NodeSpeed(host, (Rate("EPYC", 4, None, "float32 products", value, "numpy 2"),), missing, load)


@pytest.fixture
def check(fake_commands: Any, tmp_path: Path, site: Any) -> Any:
    """Check every node whose jobs find these values; files of the fake commands say what else happens to jobs.

    `shell_defaults` has the Slurm options from variables of the shell.
    """

    def run(
        values: dict[int, float | NodeSpeed],
        files: dict[str, str] | None = None,
        whole: bool = False,
        shell_defaults: dict[str, str] | None = None,
        **slurm: str,
    ) -> EachNode:
        hostlist = "echo n[2-3]"
        folder = fake_commands(sinfo=SINFO, sbatch=SBATCH, squeue=SQUEUE, scontrol=hostlist, scancel="")
        for number, value in values.items():
            measured = value if isinstance(value, NodeSpeed) else speed(f"n{number}", value)
            (folder / f"speed-{number}").write_text(json.dumps(measured.as_data()) + "\n")
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        shared = tmp_path / "shared"
        shared.mkdir()
        options = SpeedOptions(whole_node=whole, pythons=(), timeout_s=0.1)
        chosen = site(slurm=slurm).with_shell_defaults(shell_defaults or {})
        return check_each_node(Workspace(tmp_path), chosen, PARTITIONS, shared, options, silent)

    return run


def of(checked: EachNode, subject: str) -> CheckResult:
    (found,) = [result for result in checked.host.results if result.subject == subject]
    return found


def test_a_slow_node_is_named_with_the_list_to_exclude_with_fake_slurm_commands(check: Any, tmp_path: Path) -> None:
    checked = check({1: 200e9, 2: 150e9, 3: 201e9, 4: 199e9})
    slow = of(checked, "slow node")
    assert (slow.level, slow.found) == (WARNING, "n2: float32 products 150 GFLOP/s, 25 % below the median of 4")
    assert checked.exclude == "n[2-3]", "as scontrol prints it"
    assert "slurm: {exclude: 'n[2-3]'}" in slow.action
    asked = (tmp_path / "fake commands" / "scontrol.called").read_text()
    assert asked == "show\nhostlist\nn2\n"
    kind = of(checked, "float32 products on 4 cores of EPYC")
    assert kind.level == OK
    assert kind.found == "4 rates, median 200 GFLOP/s, lowest 150 GFLOP/s (n2), highest 201 GFLOP/s (n3)"
    assert [each["host"] for each in checked.as_data()["nodes"]] == ["n1", "n2", "n3", "n4"]


def test_each_node_has_one_job_although_two_partitions_have_it_with_fake_slurm_commands(
    check: Any, tmp_path: Path
) -> None:
    checked = check(dict.fromkeys((1, 2, 3, 4), 200000000000.0))
    assert checked.host.facts == "4 of 5 nodes measured"
    assert (checked.exclude, checked.as_data()["exclude"]) == ("", None)
    assert len((tmp_path / "fake commands" / "sbatch.called").read_text().split("--parsable")) == 1 + 4
    scripts = [path.read_text() for path in sorted((tmp_path / "shared").glob("*.sh"))]
    assert all("#SBATCH --partition=cpu\n" in text and "#SBATCH --time=5\n" in text for text in scripts)
    assert ["#SBATCH --nodelist=n3\n" in text for text in scripts] == [False, False, True, False]


def test_nodes_without_a_result_are_told_with_the_reason_with_fake_slurm_commands(check: Any, tmp_path: Path) -> None:
    files = {"waiting-2": "", "refuse-3": "sbatch: error: Invalid account"}
    checked = check({1: 200e9}, files, shell_defaults={"account": "lba"})
    assert of(checked, "not available").found == "n5: drained: bad memory | since Monday"
    assert of(checked, "not measured").found.startswith("n2: the job did not start in 0 s; cancelled")
    assert (of(checked, "refused").level, of(checked, "failed").level) == (PROBLEM, PROBLEM)
    assert "n3: " in of(checked, "refused").found
    assert "Invalid account" in of(checked, "refused").found
    assert of(checked, "refused").action.startswith("In the shell: unset or correct SBATCH_ACCOUNT. If ")
    assert of(checked, "failed").found == "n4: the job ended without a result: it printed nothing"
    assert (tmp_path / "fake commands" / "scancel.called").read_text() == "2\n"


def test_a_node_with_other_work_on_it_is_not_compared_with_fake_slurm_commands(check: Any) -> None:
    busy = CheckResult("background load", WARNING, "3.00 of 4 usable CPUs busy with background load")
    checked = check({1: 200e9, 2: speed("n2", 90e9, (busy,)), 3: 201e9, 4: 199e9})
    assert checked.exclude == ""
    assert of(checked, "interference").found == "n2: 3.00 of 4 usable CPUs busy with background load"
    assert of(checked, "float32 products on 4 cores of EPYC").found.startswith("3 rates, ")


def test_whole_nodes_are_not_advised_where_they_were_requested_with_fake_slurm_commands(check: Any) -> None:
    busy = CheckResult("background load", WARNING, "3.00 of 4 usable CPUs busy with background load")
    checked = check({1: speed("n1", 90e9, (busy,))}, whole=True)
    assert "--whole-node" not in of(checked, "interference").action


def test_nodes_that_the_site_file_excludes_stay_in_the_list_with_fake_slurm_commands(
    check: Any, tmp_path: Path
) -> None:
    check({1: 200e9, 2: 150e9, 3: 201e9, 4: 199e9}, exclude="n[8-9]")
    assert (tmp_path / "fake commands" / "scontrol.called").read_text() == "show\nhostlist\nn[8-9],n2\n"


def test_two_nodes_cannot_be_compared_with_fake_slurm_commands(check: Any) -> None:
    checked = check({1: 200e9, 2: 100e9}, {"waiting-3": "", "waiting-4": ""})
    kind = of(checked, "float32 products on 4 cores of EPYC")
    assert (kind.level, kind.found) == (NOTE, "100 GFLOP/s (n2), 200 GFLOP/s (n1)")
    assert checked.exclude == ""


def test_what_a_node_lacks_is_told_with_fake_slurm_commands(check: Any) -> None:
    missing = ("GPU 0: /usr/bin/python3: no torch",)
    checked = check({1: speed("n1", 200e9, missing=missing), 2: 200e9, 3: 200e9, 4: 200e9})
    assert of(checked, "incomplete").found == "n1: GPU 0: /usr/bin/python3: no torch"


def test_beyond_the_limit_of_jobs_the_rest_waits_for_the_first_with_fake_slurm_commands(
    check: Any, tmp_path: Path
) -> None:
    values = dict.fromkeys((1, 2, 3, 4), 200000000000.0)
    checked = check(values, {"refuse-3": "sbatch: error: QOSMaxSubmitJobPerUserLimit", "once": ""})
    assert checked.host.facts == "4 of 5 nodes measured"
    asked = [word for word in (tmp_path / "fake commands" / "sbatch.called").read_text().split() if ".sh" in word]
    assert [Path(word).name for word in asked] == ["node-0.sh", "node-1.sh", "node-2.sh", "node-2.sh", "node-3.sh"]


def test_a_limit_that_no_job_of_ours_reaches_is_a_refusal_with_fake_slurm_commands(check: Any) -> None:
    limit = {f"refuse-{number}": "sbatch: error: QOSMaxSubmitJobPerUserLimit" for number in (1, 2, 3, 4)}
    checked = check({}, limit)
    assert [each.subject for each in checked.host.results if each.level == PROBLEM] == ["refused"] * 4


@pytest.mark.parametrize(("cpus", "gpus", "expected"), [(64, 0, (4, 0)), (2, 0, (2, 0)), (64, 8, (4, 1))])
def test_the_job_of_a_node_asks_for_little(site: Any, cpus: int, gpus: int, expected: tuple[int, int]) -> None:
    node = Node("n1", "cpu", cpus, gpus, "idle", True)
    defaults = {"nodelist": "n[1-9]", "exclude": "n1"}
    asked, whole = (resources_on(node, site(slurm=defaults), Partition(), each) for each in (False, True))
    assert (asked.cpus_per_task, asked.gpus_per_task) == expected
    assert (asked.slurm.nodelist, asked.slurm.exclude, asked.slurm.exclusive) == ("n1", None, False)
    assert (whole.slurm.exclusive, whole.gpus_per_task) == (True, gpus)
