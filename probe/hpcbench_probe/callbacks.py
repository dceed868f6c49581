"""Steps of a framework with callbacks. Each step begins at the end of the previous one."""

from typing import Any, Dict, Mapping, Optional

from .probe import checked_items, probe
from .recorder import DATA


class Steps:
    """The steps of one training loop, from `train` to `stop`. Outside runs of hpcbench, all methods do nothing."""

    def __init__(self, items: Optional[int], synchronize: bool) -> None:
        self.items = items
        self._synchronize = synchronize
        self._start: Optional[float] = None
        self._trains = False
        self._logged: Dict[str, float] = {}

    def train(self) -> None:
        """Begin the training."""
        self._trains = probe.active

    def stop(self) -> None:
        """End the training, and discard the step that began after the last batch."""
        self.discard()
        self._trains = False

    def restart(self) -> None:
        """Begin a step now, and discard an unfinished one. The time since the last step is not recorded."""
        self.discard()
        if self._trains:
            self._start = probe._begin(self._synchronize)

    def ready(self) -> None:
        """Note that the batch of the current step has arrived."""
        if self._start is not None:
            probe._end_phase(DATA, self._start)

    def end(self) -> None:
        """Record the current step."""
        if self._start is not None:
            probe._end(self._start, checked_items(self.items))
            self._start = None

    def discard(self) -> None:
        """Discard the current step, if there is one."""
        if self._start is not None:
            probe._discard()
            self._start = None

    def log(self, values: Mapping[str, Any]) -> None:
        """Log the values that have changed and are numbers or tensors of one element."""
        if self._trains:
            numbers = {name: float(value) for name, value in values.items() if _is_number(value)}
            probe.log(**{name: value for name, value in numbers.items() if self._logged.get(name) != value})
            self._logged.update(numbers)


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, float)):
        return not isinstance(value, bool)
    return callable(getattr(value, "numel", None)) and value.numel() == 1
