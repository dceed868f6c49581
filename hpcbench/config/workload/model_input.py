"""An input of a model of a library or of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from hpcbench.config.yaml_document import Model
from hpcbench.models import inputs

MAX_SIZE = 10**9
if TYPE_CHECKING:
    Dtype: TypeAlias = str
else:
    Dtype = Literal[inputs.DTYPES]
Size = Annotated[int, Field(ge=1, le=MAX_SIZE)]


class ModelInput(Model):
    """One input of a model. Unset fields have the library's defaults, if the library defines this input."""

    shape: list[Size] | None = Field(
        default=None, description="shape of one item, without the batch dimension, e.g. [3, 224, 224]"
    )
    dtype: Dtype | None = Field(
        default=None,
        description="`float32`: random values in the dtype of the case. `tokens`: random int64 token IDs below "
        "`vocabulary`. `int64`, `int32`, `bool`: all elements are `value`. Unset: the library's dtype or float32",
    )
    vocabulary: int | None = Field(default=None, ge=1, le=MAX_SIZE, description="vocabulary size")
    value: float | bool | None = Field(
        default=None, description="the value of all elements, e.g. 1 for an attention mask; unset: random"
    )

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the fields that are set, as in the experiment."""
        return {name: value for name, value in handler(self).items() if value is not None}


def _single_or_named(value: Any) -> Any:
    """Return one input, or inputs by name. The type is chosen first: pydantic would report errors of both types."""
    if not isinstance(value, dict) or not value:
        raise ValueError("the inputs must be a mapping, e.g. {shape: [3, 224, 224]}, or {ids: {shape: [128], ...}}")
    if not inputs.is_single(value):
        return {name: ModelInput.model_validate(each) for name, each in value.items()}
    return ModelInput.model_validate(value)


Inputs = Annotated[ModelInput | dict[str, ModelInput], BeforeValidator(_single_or_named)]
