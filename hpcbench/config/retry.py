"""The `retry` section of an experiment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hpcbench.config.yaml_document import Model


class Retry(Model):
    """The outcomes after which runs are retried automatically, and how often."""

    max: int = Field(default=2, ge=0, le=100, description="maximum number of retries of a run after these outcomes")
    on: list[Literal["node_failure", "preempted", "failed", "timeout", "out_of_memory"]] = Field(
        default=["node_failure", "preempted"], description="outcomes after which a run is retried"
    )

    @property
    def by_slurm(self) -> bool:
        """Return whether Slurm may requeue a job after a node failure or a preemption."""
        return self.max > 0 and bool({"node_failure", "preempted"} & set(self.on))
