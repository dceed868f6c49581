"""The parameters that hpcbench itself reads in records, to check them."""

from dataclasses import dataclass
from typing import Any, Mapping, Optional


@dataclass(frozen=True)
class UsedParameters:
    """The parameters that hpcbench itself reads in records, to check them."""

    framework: str
    nodes: int
    tasks_per_node: int
    cpus_per_task: int
    gpus_per_task: int
    instances: int
    batch_size: Optional[int]
    model_options: Optional[Mapping[str, Any]]
    data: Optional[Mapping[str, Any]]
    task: Optional[str] = None
    intra_op_threads: Optional[int] = None
    inter_op_threads: Optional[int] = None
