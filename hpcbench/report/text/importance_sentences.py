"""The importance of parameters in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbench.analysis.stats.factor_levels import text
from hpcbench.analysis.stats.paired_effects import Contrast, Effect
from hpcbench.analysis.stats.ratio_text import in_brackets, percent, times
from hpcbench.analysis.studies.importance import Importance, Share
from hpcbench.config.names import USER_PARAMETER

_WORTH_TELLING = 0.01  # fraction of the variation
_MAX_LEFT_OUT = 5


def sentences(found: Importance) -> list[str]:
    """Return sentences on the importance of parameters, strongest first. `found.reason` must be None."""
    return list(_sentences(found))


def _sentences(found: Importance) -> Iterator[str]:
    of = f"of the {found.quantity.title}"
    told = [share for share in found.factors if share.is_significant]
    if sum(share.share for share in told) > found.together + _WORTH_TELLING:
        told = []  # in an unbalanced design, each share may include what the factors explain only together
    significant = [share for share in told if share.share >= _WORTH_TELLING]
    for share in significant:
        effect = _effect_to_tell(share)
        explained = f"{share.name} explains {percent(share.share)} of the variation {of}"
        yield f"{explained}: {_of_effect(effect, found.quantity.better)}." if effect else f"{explained}."
    if found.interaction and found.interaction.share >= _WORTH_TELLING:
        yield _of_interaction(found.interaction)
    apart = found.together - sum(share.share for share in found.factors)
    if apart >= _WORTH_TELLING:
        yield f"{percent(apart)} is explained by factors that vary together and cannot be separated."
    weak = [share.name for share in told if share not in significant]
    if weak:
        each = weak[0] if len(weak) == 1 else f"Each of {', '.join(weak)}"
        yield f"{each} explains less than {percent(_WORTH_TELLING)} of the variation {of}."
    others = [share for share in found.factors if share not in told]
    mixed = [share.name for share in others if share.beyond_noise or share.is_significant]
    if mixed:
        yield f"Significant for the {found.quantity.title}, but not attributable with these cases: {', '.join(mixed)}."
    few = [share.name for share in others if share.name not in mixed and not share.enough_repetitions]
    if few:
        names = ", ".join(few)
        yield f"Too few runs to distinguish an effect from noise in the {found.quantity.title}: {names}."
    unclear = [share.name for share in others if share.name not in [*mixed, *few]]
    if unclear:
        yield f"Possibly only noise in the {found.quantity.title}: {', '.join(unclear)}."
    yield f"Noise between runs is {percent(found.noise)} of the variation {of}."
    if found.left_out:
        yield f"Left out: {_left_out(found)}."


def _effect_to_tell(share: Share) -> Effect | None:
    """Return the largest significant effect with at least half of the largest number of pairs, if any."""
    most = max((effect.pairs for effect in share.effects), default=0)
    return next((effect for effect in share.effects if effect.is_significant and 2 * effect.pairs >= most), None)


def _of_effect(effect: Effect, better: str) -> str:
    """Return `2 instead of 1 is 1.34x [1.29, 1.38] faster (median of 12 pairs)`."""
    pairs = f"median of {effect.pairs:,} pairs" if effect.pairs > 1 else "one pair"
    return f"{text(effect.better)} instead of {text(effect.worse)} is {in_brackets(effect.ratio)} {better} ({pairs})"


def _of_interaction(share: Share) -> str:
    """Return `intra_op_threads and batch_size together explain 9 % more: intra_op_threads 2 instead of 1 helps ...`."""
    combined = f"{share.name} together explain {percent(share.share)} more"
    return (
        f"{combined}: {_of_contrast(share.contrast)}."
        if share.contrast
        else f"{combined}: the effect of one depends on the other."
    )


def _of_contrast(contrast: Contrast) -> str:
    other = contrast.other.names[0].removeprefix(USER_PARAMETER)
    here, there = (f"{other}={text(value)}" for value in (contrast.given, contrast.other_given))
    change = (
        f"{contrast.factor.names[0].removeprefix(USER_PARAMETER)} {text(contrast.to)} instead of {text(contrast.since)}"
    )
    more, join = ("more ", "than") if contrast.other_gain > 1 else ("", "but not")
    return f"{change} helps {more}at {here} ({times(contrast.gain)}) {join} at {there} ({times(contrast.other_gain)})"


def _left_out(found: Importance) -> str:
    """Return the first _MAX_LEFT_OUT omitted columns with reasons, and the number of further ones."""
    named = [f"{name} ({why})" for name, why in found.left_out[:_MAX_LEFT_OUT]]
    more = len(found.left_out) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more else [])])
