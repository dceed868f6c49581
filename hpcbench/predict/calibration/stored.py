"""Calibrations as JSON types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbench.predict.calibration.intervals import Calibration


def to_json(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON types."""
    return {
        "clusters": calibration.clusters,
        "cluster": calibration.cluster,
        "quantiles": {name: float(value) for name, value in sorted(calibration.quantiles.items())},
        "effects": {name: float(value) for name, value in sorted(calibration.effects.items())},
    }


def from_json(stored: Mapping[str, Any]) -> Calibration:
    """Return the calibration that `to_json` returned."""
    quantiles, effects = dict(stored["quantiles"]), dict(stored["effects"])
    return Calibration(int(stored["clusters"]), float(stored["cluster"]), quantiles, effects)


def all_to_json(calibrations: Mapping[str, Calibration]) -> dict[str, Any]:
    """Return calibrations by name as JSON types."""
    return {name: to_json(each) for name, each in sorted(calibrations.items())}


def all_from_json(stored: Mapping[str, Any]) -> dict[str, Calibration]:
    """Return the calibrations that `all_to_json` returned."""
    return {name: from_json(each) for name, each in stored.items()}
