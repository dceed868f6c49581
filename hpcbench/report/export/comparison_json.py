"""A comparison as JSON, for programs."""

from __future__ import annotations

from hpcbench.analysis.stats.equivalence import FALSE_DISCOVERY_RATE, RANK_SUM_LEVEL
from hpcbench.analysis.stats.intervals import LEVEL
from hpcbench.analysis.studies.comparison import Comparison
from hpcbench.report.export.json_text import json_text


def comparison_json(comparison: Comparison) -> str:
    """Return rule, counts, and one object per case and quantity, worst first, as JSON; null is unknown or infinite."""
    document = {
        "base": comparison.base,
        "new": comparison.new,
        "margin": comparison.margin,
        "correction": "Benjamini-Hochberg",
        "false_discovery_rate": FALSE_DISCOVERY_RATE,
        "rank_sum_level": RANK_SUM_LEVEL,
        "interval_level": LEVEL,
        "verdicts": comparison.counts(),
        "compared": comparison.compared,
        "differing": {**comparison.versions, **comparison.machines, **comparison.settings},
        "warnings": comparison.warnings,
        "comparisons": comparison.rows.to_dict("records"),
    }
    return json_text(document)
