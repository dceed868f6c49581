"""The optimizer of a case and its learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    TypeAdapter,
    model_serializer,
    model_validator,
)

from hpcbench.config.yaml_document import Model
from hpcbench.models import optimizers
from hpcbench.models.optimizers import OPTIMIZERS
from hpcbench.models.schedules import CONSTANT, COSINE, OF_EPOCHS, OF_STEPS, SCHEDULES, STEPS, UNITS

MAX_RATE, MAX_STEPS = 1000.0, 10**9
if TYPE_CHECKING:
    Name: TypeAlias = str
    Kind: TypeAlias = str
    Unit: TypeAlias = str
else:
    Name, Kind, Unit = Literal[tuple(OPTIMIZERS)], Literal[SCHEDULES], Literal[UNITS]
Rate = Annotated[float, Strict(), Field(gt=0, le=MAX_RATE)]
Step = Annotated[int, Field(ge=1, le=MAX_STEPS)]
Milestone = Annotated[tuple[Step, Rate], Strict(False)]  # a list in YAML
Fraction = Annotated[float, Field(ge=0, lt=1)]
_OF_KINDS = {"milestones": STEPS, "total_steps": COSINE, "final": COSINE}


class LearningRate(Model):
    """A learning rate that changes over the steps of the optimizer, or over epochs."""

    schedule: Kind = Field(
        default=CONSTANT,
        description="`constant`: `peak`. `steps`: `peak`, then the rate of each milestone from its step on. "
        "`cosine`: cosine annealing from `peak` to `final`",
    )
    unit: Unit | None = Field(
        default=None,
        description="unit of `warmup_steps`, `milestones` and `total_steps`: `steps` of the optimizer, or `epochs` "
        "(requires `data`); unset: `steps`",
    )
    peak: Rate = Field(description="learning rate after the warm-up")
    warmup_steps: int = Field(
        default=0, ge=0, le=MAX_STEPS, description="steps over which the rate rises linearly to `peak`"
    )
    milestones: list[Milestone] | None = Field(
        default=None,
        min_length=1,
        description="for `schedule: steps`: [step, rate] pairs; each rate applies from its step on, e.g. "
        "[[1000, 0.01]]",
    )
    total_steps: Step | None = Field(
        default=None, description="for `schedule: cosine`: step from which on the rate is `final`"
    )
    final: float | None = Field(
        default=None, ge=0, le=MAX_RATE, description="for `schedule: cosine`: the last learning rate; unset: 0"
    )

    @model_validator(mode="after")
    def _consistent(self) -> LearningRate:
        for name, kind in _OF_KINDS.items():
            if getattr(self, name) is not None and self.schedule != kind:
                raise ValueError(f"'{name}' requires schedule: {kind}, not {self.schedule}")
        if self.schedule == STEPS and self.milestones is None:
            raise ValueError("'milestones' is missing: schedule: steps requires it, e.g. milestones: [[1000, 0.01]]")
        if self.schedule == COSINE and self.total_steps is None:
            raise ValueError("'total_steps' is missing: schedule: cosine requires it, e.g. total_steps: 10000")
        starts = [self.warmup_steps, *(step for step, _ in self.milestones or ())]
        if starts != sorted(starts):
            raise ValueError(
                f"'milestones' must be in ascending order of steps, from warmup_steps ({self.warmup_steps}) on"
            )
        if self.total_steps is not None and self.total_steps <= self.warmup_steps:
            raise ValueError(f"total_steps is {self.total_steps}, not more than warmup_steps, {self.warmup_steps}")
        return self

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the fields that are set."""
        return {name: value for name, value in handler(self).items() if value is not None}


_RATE: TypeAdapter[float] = TypeAdapter(Rate)


def _number_or_schedule(value: Any) -> Any:
    """Return a number or a schedule. The type is chosen first: pydantic would report errors of both types."""
    if isinstance(value, dict):
        return LearningRate.model_validate(value)
    return None if value is None else _RATE.validate_python(value)


class Optimizer(Model):
    """The optimizer of training. Unset options have the defaults of the optimizer."""

    name: Name = Field(default=optimizers.DEFAULT, description="the update rule")
    learning_rate: Annotated[Rate | LearningRate, BeforeValidator(_number_or_schedule)] | None = Field(
        default=None, description="learning rate: a number, or a schedule over steps of the optimizer or epochs"
    )
    momentum: Fraction | None = Field(default=None, description="momentum of `momentum` and `nesterov`")
    betas: list[Fraction] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="decay rates of the two moments of `adam`, `adamw` and `lamb`",
    )
    alpha: Fraction | None = Field(default=None, description="decay rate of the mean square of `rmsprop`")
    eps: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="added to the denominator, outside the square root, for numerical stability",
    )
    weight_decay: float | None = Field(
        default=None,
        ge=0,
        le=MAX_RATE,
        description="weight decay: decoupled for `adamw` and `lamb`, otherwise an L2 penalty",
    )
    clip_norm: float | None = Field(
        default=None, gt=0, description="maximum L2 norm of the gradient of all weights; unset: not clipped"
    )
    clip_value: float | None = Field(
        default=None, gt=0, description="maximum absolute value of each gradient element; unset: not clipped"
    )
    gradient_accumulation_steps: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="batches per optimizer step, whose gradients are averaged; a measured step includes all of them",
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        """Set the defaults of the optimizer, so that records contain all of its options."""
        return optimizers.completed(given)

    @model_validator(mode="after")
    def _consistent(self) -> Optimizer:
        known = optimizers.defaults_of(self.name)
        for name in self.model_dump(mode="json"):
            if name not in ("name", *known):
                options = ", ".join(known)
                raise ValueError(f"'{name}' is not an option of the optimizer {self.name}; use one of: {options}")
        if self.clip_norm is not None and self.clip_value is not None:
            raise ValueError("clip_norm cannot be used with clip_value")
        return self

    @model_serializer(mode="wrap")
    def _set(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the options that have a value."""
        return {name: value for name, value in handler(self).items() if value is not None}

    def content(self) -> dict[str, Any]:
        """Return what differs from the defaults; empty for the default optimizer."""
        changed = optimizers.differing(self.model_dump(mode="json"))
        return {key: value for key, value in changed.items() if (key, value) != ("name", optimizers.DEFAULT)}


def check_epochs(optimizer: Optimizer, *, has_data: bool) -> None:
    """Raise ValueError for a learning rate over epochs without data: synthetic input has no epochs."""
    rate = optimizer.learning_rate
    if isinstance(rate, LearningRate) and rate.unit == OF_EPOCHS and not has_data:
        raise ValueError(f"a learning rate with unit: {OF_EPOCHS} requires data; use unit: {OF_STEPS}")
