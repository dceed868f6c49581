"""Steps of a framework that calls back, from the end of a step to the end of the next."""

from typing import Any, Dict, Mapping, Optional

from .probe import probe
from .recorder import DATA


class Steps:
    """The steps of one training loop. Outside runs of hpcbench, all methods do nothing."""

    def __init__(self, items: Optional[int], synchronize: bool) -> None:
        self.items = items
        self._synchronize = synchronize
        self._start: Optional[float] = None
        self._logged: Dict[str, float] = {}

    def restart(self) -> None:
        """Begin a step now. A step that had begun, but not ended, is dropped: the time before now is not of a step."""
        self.leave()
        if probe.active:
            self._start = probe.begin(self._synchronize)

    def ready(self) -> None:
        """Note that the batch of the current step has arrived."""
        if self._start is not None:
            probe.end_phase(DATA, self._start)

    def end(self) -> None:
        """Record the current step."""
        if self._start is not None:
            probe.end(self._start, self.items)
            self._start = None

    def leave(self) -> None:
        """Drop the current step, if there is one."""
        if self._start is not None:
            probe.leave()
            self._start = None

    def log(self, values: Mapping[str, Any]) -> None:
        """Log those of the values that are numbers, or tensors of one number, and that have changed."""
        if probe.active:
            numbers = {name: float(value) for name, value in values.items() if _is_number(value)}
            probe.log(**{name: value for name, value in numbers.items() if self._logged.get(name) != value})
            self._logged.update(numbers)


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, float)):
        return not isinstance(value, bool)
    return callable(getattr(value, "numel", None)) and value.numel() == 1
