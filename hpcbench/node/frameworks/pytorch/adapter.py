"""PyTorch."""

from typing import Any, Callable, Dict, List, Optional, Tuple, Type

import torch

from ....core.profiling.operator_list import OperatorList
from ....core.profiling.operator_row import OperatorRow
from ... import oom_detection
from ...errors import Unsupported
from ...workload.problem import Problem
from .. import capabilities
from ..adapter import Adapter
from ..computation import Computation
from ..profile_request import ProfileRequest
from ..supported_library import SupportedLibrary
from .external.network import ExternalPyTorchNetwork
from .network import DTYPES, PyTorchNetwork
from .operators import PyTorchOperator
from .settings import flushes_denormals, set_flush_denormals, set_onednn, uses_onednn


class PyTorch(Adapter):
    """The adapter of PyTorch."""

    name = "pytorch"
    packages: Tuple[str, ...] = (
        "torch",
        "numpy",
        "triton",
        "horovod",
        "deepspeed",
        "torchvision",
        "timm",
        "transformers",
    )
    # torch.amp.GradScaler takes a device since 2.3.
    libraries: Tuple[SupportedLibrary, ...] = (SupportedLibrary("PyTorch", torch.__version__, "2.3", "3"),)
    network: Type[PyTorchNetwork] = PyTorchNetwork
    external: Type[PyTorchNetwork] = ExternalPyTorchNetwork
    operator: Type[PyTorchOperator] = PyTorchOperator
    exhausted = (torch.cuda.OutOfMemoryError,)  # of all its allocators on GPUs
    memory_errors = (RuntimeError,)
    memory_words = oom_detection.PYTORCH
    changes_threads = True
    has_collectives = True

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        if intra_op is not None:
            torch.set_num_threads(intra_op)
        if inter_op is not None:
            try:
                torch.set_num_interop_threads(inter_op)
            except RuntimeError as error:  # something has run in parallel, or the count was set before
                message = "inter_op_threads can no longer be set: %s" % str(error).splitlines()[0]
                advice = (
                    "remove inter_op_threads, or code that uses PyTorch earlier in this process (e.g. sitecustomize)"
                )
                raise Unsupported("%s; %s" % (message, advice)) from error

    def threads(self) -> Dict[str, Any]:
        by = "torch.set_num_threads, torch.set_num_interop_threads"
        return {"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads(), "by": by}

    def set_settings(self, parameters: Dict[str, Any]) -> None:
        set_flush_denormals(parameters["flush_denormals"])
        set_onednn(parameters["onednn"])

    def settings(self) -> Dict[str, Any]:
        return {"flush_denormals": flushes_denormals(), "onednn": uses_onednn()}

    def profile(
        self, computation: Computation, request: ProfileRequest, keep: Callable[[OperatorRow], None]
    ) -> List[str]:
        from .profiler.profile import profile

        if not isinstance(computation, PyTorchNetwork):
            raise Unsupported("only networks can be profiled")
        return profile(computation, request, keep)

    def operators_of(self, problem: Problem) -> OperatorList:
        from .unrun.list_step import operators_of

        return operators_of(problem)

    def devices(self) -> List[str]:
        return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]

    def build(self, problem: Problem) -> Computation:
        built = "" if torch.version.cuda or torch.version.hip else " (built for the CPU only)"
        visible = self.devices() if problem.on_gpu else []
        capabilities.check_gpus(problem, visible, "PyTorch %s%s" % (torch.__version__, built))
        _check_dtype(problem)
        return self.computation_of(problem)


def _check_dtype(problem: Problem) -> None:
    if not problem.on_gpu:
        capabilities.check_cpu_dtype(problem, tuple(DTYPES))
        return
    own = capabilities.own_gpu(problem, torch.cuda.device_count())
    capability = None if torch.version.hip else torch.cuda.get_device_capability(own)
    capabilities.check_gpu_dtype(problem, capability, torch.cuda.get_device_name(own))


ADAPTER = PyTorch()
