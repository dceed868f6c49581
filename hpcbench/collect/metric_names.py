"""Names of numbers in output: identifiers for metrics, which of them are results, and units that a name contains."""

from __future__ import annotations

import re

from hpcbench.core.metrics.units import short_unit

LONGEST = 60  # characters
# Short names of quantities that `--metric` knows already.
RESERVED = frozenset(
    ("time", "throughput", "speedup", "peak", "price", "energy", "models", *(f"p{n}" for n in (50, 90, 95, 99, 999)))
)
_PRINTED = "printed_"  # prefix of a name that is reserved
_PER_SECOND = re.compile(r"/s(?:ec(?:ond)?)?\Z")
# Names of counters, settings and identifiers.
_NO_RESULT = re.compile(
    r"(?:.*_)?(?:version|port|host|cuda|python|torch|pid|seed|rank|epochs?|steps?|iter(?:ation)?s?|batch(?:es)?|lr"
    r"|learning_rate|date|year|id|idx|index|num|number|total|progress|percent|remaining|eta|lineno|line|devices?|gpus?"
    r"|cpus?|nodes?|threads?|workers?|process(?:es)?|size|momentum|dropout|decay|beta[12]?|gamma|eps|epsilon|alpha"
    r"|patience|layers|heads|dim|hidden|classes|params|parameters|samples|examples|exit|code|status|level|job|task"
    r"|warmup|interval|timestamp|time_ms)\Z|v_num\Z|(?:num|n|opt)_"
)
_QUALITY = re.compile(
    r"(?:.*_)?(?:loss|acc|accuracy|acc1|acc5|top1|top5|precision|recall|f1|auc|bleu|rouge\w*|perplexity|ppl|error|err"
    r"|mse|rmse|mae|wer|cer|map|miou|iou|score)(?:_.*)?\Z"
)
_NAMED_RATE = re.compile(r"(?:.*_)?(?P<what>[a-z]+)_per_(?:s|sec|second)\Z")
_NAMED_TIME = re.compile(r"(?:.*_)(?P<unit>ns|us|ms|s|secs?|seconds)\Z|(?:.*_)?runtime\Z")


def identifier(words: str) -> str:
    """Return a plain identifier for a name in an output: `train_loss` for `train/loss`; empty if it has none."""
    text = _PER_SECOND.sub(" per s", words.strip()).replace("%", " percent ")
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not words.isascii() or not name or name[0].isdigit() or len(name) > LONGEST:
        return ""
    return _PRINTED + name if name in RESERVED else name


def is_result(name: str) -> bool:
    """Return whether an identifier may name a result, not a counter, a setting or an identifier of something."""
    return _NO_RESULT.match(name) is None


def is_quality(name: str) -> bool:
    """Return whether an identifier names a loss, an accuracy or the like."""
    return _QUALITY.match(name) is not None


def unit_in(name: str) -> str:
    """Return the unit that an identifier contains, such as `samples/s` of train_samples_per_second; empty if none."""
    rate = _NAMED_RATE.match(name)
    if rate:
        return short_unit(f"{rate['what']}/s")
    time = _NAMED_TIME.match(name)
    return short_unit(time["unit"] or "s") if time else ""
