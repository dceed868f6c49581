"""The operators of cases that have not run: the node lists them without running a step, the login node predicts them.

The node writes one JSON object per case, an OperatorList, as a line of a file.
"""

from dataclasses import dataclass
from typing import Optional, Sequence

from ..record_field import described

FRAMEWORKS = ("pytorch", "onnxruntime")  # that list operators


@dataclass(frozen=True)
class ListedOperator:
    """A distinct call of a step; its fields are those of OperatorRow that need no measurement."""

    kind: str = described("kind of operator, such as `conv2d` or `gemm`")
    operator: str = described("canonical name: `aten.convolution.default`")
    phase: str = described("`forward`, `backward` or `optimizer`")
    arguments: str = described("arguments as canonical JSON, as in OperatorRow")
    calls: int = described("calls with these arguments in one step")
    bytes_moved: int = described("bytes that one call reads and writes; an array that it changes counts twice")
    weight_bytes: int = described("bytes of those inputs that are weights")
    output_bytes: int = described("bytes of the arrays that one call returns")
    is_view: bool = described("whether it only describes memory in another way")
    dtype: Optional[str] = described("dtype of the first output", default=None)
    flops: Optional[int] = described("FLOPs of one call (1 MAC = 2 FLOPs); null if no formula is known", default=None)


@dataclass(frozen=True)
class OperatorList:
    """The operators of one step of a case, or the reason why they cannot be listed."""

    case_id: str = described("ID of the case")
    reason: str = described("why there are no operators; otherwise empty", default="")
    operators: Sequence[ListedOperator] = described("the operators of an eager step", default=())
    framework_version: Optional[str] = described("version of the framework that listed them", default=None)
    parameter_count: Optional[int] = described("trainable weights of the network", default=None)
    dtype: Optional[str] = described("dtype of the file of the network; null if the case sets it", default=None)
    hint: str = described("what to do about the reason; empty if unknown", default="")
    lacks_input: Sequence[str] = described(
        "the fields of `input` that are missing, if this is the reason: `shape` and `value`", default=()
    )
    fixed_batch_size: Optional[int] = described(
        "if the reason is that the model has another batch size, this batch size", default=None
    )
