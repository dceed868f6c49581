"""What the node is told of a run."""

from __future__ import annotations

from hpcbench.core.run_spec import PlannedRun


def test_each_task_starts_its_instances_and_in_older_sweeps_none() -> None:
    parameters = {"nodes": 2, "tasks_per_node": 3}
    older = PlannedRun("c0", 0, 1, 0, parameters, {}, {})
    assert not older.owns_nodes
    assert (older.tasks, older.instances, older.ranks) == (6, 1, 6)
    assert older._replace(parameters={**parameters, "instances": 4}).ranks == 24
