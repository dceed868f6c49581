"""The columns that predictions add to the table of cases."""

from __future__ import annotations

from dataclasses import dataclass

DEVICE, REASON = "predicted_device", "prediction_reason"
MEMORY = "predicted_memory_bytes"
CLOCK = "predicted_clock_mhz"  # boost clock of a GPU
# Verdicts on a measured value: in the prediction interval, above it, below it, or measured on another device.
INSIDE, ABOVE, BELOW, OTHER_DEVICE = "inside", "above", "below", "other device"


@dataclass(frozen=True)
class Predicted:
    """A quantity that is predicted and measured; `measured` is the column of its measured values."""

    name: str
    title: str
    unit: str
    measured: str

    @property
    def column(self) -> str:
        """Return the column of the predicted values: `predicted_time_s`."""
        return f"predicted_{self.name}_{self.unit.lower()}"

    @property
    def limits(self) -> tuple[str, str]:
        """Return the columns of the 90 % prediction interval."""
        return limits_of(self.column)

    @property
    def ratio(self) -> str:
        """Return the column of the ratio of the measured to the predicted value."""
        return f"measured_over_predicted_{self.name}"

    @property
    def verdict(self) -> str:
        """Return the column of the verdict on the measured value."""
        return f"predicted_{self.name}_verdict"


def limits_of(column: str) -> tuple[str, str]:
    """Return the columns of the 90 % prediction interval of a column of predicted values."""
    return f"{column}_pi_low", f"{column}_pi_high"


TIME = Predicted("time", "step time", "s", "time_median_s")
POWER = Predicted("power", "power", "W", "measured_power_w")
ENERGY = Predicted("energy", "energy per step", "J", "measured_step_energy_j")
QUANTITIES = (TIME, POWER, ENERGY)
