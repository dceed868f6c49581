"""Learning rates over steps or epochs: constant, in steps, or a cosine, each with an optional warm-up."""

import json
import math
from typing import Any, Mapping, NamedTuple, Tuple, Union

CONSTANT, STEPS, COSINE = "constant", "steps", "cosine"
SCHEDULES = (CONSTANT, STEPS, COSINE)
OF_STEPS, OF_EPOCHS = "steps", "epochs"
UNITS = (OF_STEPS, OF_EPOCHS)


class Schedule(NamedTuple):
    """A learning rate over optimizer steps, which are counted from 0.

    With the unit `epochs`, `warmup_steps`, the steps of `milestones` and `total_steps` are numbers of epochs.
    `peak` is the rate after `warmup_steps` of linear warm-up. From there, `steps` sets the rates of `milestones`,
    (step, rate), and `cosine` reaches `final` at `total_steps` (Loshchilov and Hutter, 2017, "SGDR", without restarts).
    """

    peak: float
    kind: str = CONSTANT
    warmup_steps: int = 0
    milestones: Tuple[Tuple[int, float], ...] = ()
    total_steps: int = 0
    final: float = 0.0
    unit: str = OF_STEPS

    @property
    def is_constant(self) -> bool:
        """Return whether the rate is the same in all steps."""
        return self.kind == CONSTANT and not self.warmup_steps

    def in_steps(self, steps_per_epoch: int) -> "Schedule":
        """Return the schedule over steps; itself if it is one already."""
        if self.unit == OF_STEPS:
            return self
        return self._replace(
            unit=OF_STEPS,
            warmup_steps=self.warmup_steps * steps_per_epoch,
            milestones=tuple((epoch * steps_per_epoch, rate) for epoch, rate in self.milestones),
            total_steps=self.total_steps * steps_per_epoch,
        )

    def rate(self, step: Any, arrays: Any) -> Any:
        """Return the learning rate of a step.

        `arrays` has `where`, `minimum`, `maximum` and `cos` for the type of `step`, such as NumPy or jax.numpy.
        """
        rate: Any = self.peak
        if self.kind == STEPS:
            for start, after in self.milestones:
                rate = arrays.where(step >= start, after, rate)
        elif self.kind == COSINE:
            passed = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
            angle = math.pi * arrays.minimum(arrays.maximum(passed, 0.0), 1.0)
            rate = self.final + 0.5 * (self.peak - self.final) * (1.0 + arrays.cos(angle))
        if self.warmup_steps:
            rate = arrays.where(step < self.warmup_steps, self.peak * (step + 1.0) / self.warmup_steps, rate)
        return rate


def simplest(given: Any) -> Any:
    """Return a learning rate as a number if it is constant, otherwise its fields that differ from their defaults.

    Any other value is returned unchanged.
    """
    if not isinstance(given, Mapping) or "peak" not in given:
        return given
    if schedule_of(given).is_constant:
        return float(given["peak"])
    kind = given.get("schedule") or CONSTANT
    left_out = ("schedule", kind), ("unit", OF_STEPS)
    fields = {name: value for name, value in given.items() if value and (name, value) not in left_out}
    return fields if kind == CONSTANT else {"schedule": kind, **fields}


def in_short(given: Any) -> Any:
    """Return a learning rate as users see it: a number, or text such as `cosine(peak=0.1,total_steps=1000)`."""
    rate = simplest(given)
    if not isinstance(rate, Mapping):
        return rate
    fields = {name: value for name, value in rate.items() if name != "schedule"}
    return "%s(%s)" % (rate.get("schedule") or CONSTANT, ",".join("%s=%s" % (k, _plain(v)) for k, v in fields.items()))


def _plain(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def schedule_of(given: Union[float, Mapping[str, Any]]) -> Schedule:
    """Return the schedule of a learning rate: a number, or a mapping with the fields of an experiment."""
    if not isinstance(given, Mapping):
        return Schedule(float(given))
    milestones = tuple((int(step), float(rate)) for step, rate in given.get("milestones") or ())
    return Schedule(
        float(given["peak"]),
        given.get("schedule") or CONSTANT,
        given.get("warmup_steps") or 0,
        milestones,
        given.get("total_steps") or 0,
        given.get("final") or 0.0,
        given.get("unit") or OF_STEPS,
    )
