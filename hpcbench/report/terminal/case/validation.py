"""The validation of a case as a line: its verdict, with the evidence or the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbench.core.validation.result import (
    FAILED,
    PASSED,
    GradientCheck,
    Repeatability,
    UpdateCheck,
    Validation,
    array_title,
)
from hpcbench.report.text.numbers import figure
from hpcbench.util.text import plural


def validation_line(found: Sequence[Validation]) -> str:
    """Return the verdict on the validations of a case, one per run; an empty text without any.

    A failed run decides, otherwise one that was not validated, otherwise the one with the largest ratio to the bound.
    """
    if not found:
        return ""
    failed = [each for each in found if each.verdict == FAILED]
    passed = [each for each in found if each.verdict == PASSED]
    if not failed and len(passed) == len(found):
        return "; ".join(["passed", *_evidence(max(passed, key=_ratio))])
    named = failed or [each for each in found if each.verdict != PASSED]
    count = f" in {len(named)} of {plural(len(found), 'run')}" if len(named) < len(found) else ""
    return "; ".join([f"{named[-1].verdict}{count}: {named[-1].reason or 'unknown reason'}", *_evidence(named[-1])])


def _ratio(found: Validation) -> float:
    return found.worst.ratio if found.worst else 0.0


def _evidence(found: Validation) -> Iterator[str]:
    if found.worst and found.worst.bound_ratio is not None:
        ratio, array = figure(found.worst.bound_ratio), array_title(found.worst.array)
        yield f"largest error / bound of rounding errors: {ratio} ({array})"
    if found.gradient_check:
        yield f"gradient check: {_gradients(found.gradient_check)}"
    if found.update:
        yield f"updates: {_updates(found.update)}"
    if found.repeatability:
        yield _repeats(found.repeatability)


def _gradients(check: GradientCheck) -> str:
    if check.error is None:
        return f"not finite in {check.dtype}"
    return f"differs from central differences by {check.error:.2g} of the norm, in {check.dtype}"


def _updates(check: UpdateCheck) -> str:
    if not check.steps:
        return f"not compared, because {check.reason}"
    if check.error is None or check.bound_ratio is None:
        return f"not finite after step {check.worst_step}"
    found = f"largest difference from the definition of the optimizer / tolerance: {figure(check.bound_ratio)} "
    found += f"({check.error:.2g} of the change in step {check.worst_step} of {check.steps})"
    return f"{found}; other steps not compared, because {check.reason}" if check.reason else found


def _repeats(found: Repeatability) -> str:
    calls = f"{plural(found.calls, 'call')} bitwise equal"
    if not found.bitwise:
        calls = f"{plural(found.calls, 'call')} differ {_difference(found.largest_difference)}"
    if found.threads_bitwise is None:
        return calls
    counts = f"with {', '.join(map(str, found.thread_counts))} threads"
    if found.threads_bitwise:
        return f"{calls}; results {counts} are bitwise equal{', too' if found.bitwise else ''}"
    return f"{calls}; results {counts} differ {_difference(found.threads_difference)}"


def _difference(value: float | None) -> str:
    return "(the difference is not finite)" if value is None else f"by up to {value:.2g}"
