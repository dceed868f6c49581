"""The probe of a training loop: steps, phases of steps, and logged values."""

import atexit
import os
import time
from typing import Any, Callable, Generic, Iterable, Iterator, Optional, TypeVar, Union

from .devices import synchronize as synchronize_devices
from .errors import ProbeError
from .recorder import Recorder

RUN = "HPCBENCH_RUN"  # variable with the folder of the run
Batch = TypeVar("Batch")
Items = Union[int, Callable[[Any], int], None]
_clock = time.monotonic  # the clock of the measurements of hpcbench


class Probe:
    """Measure the steps of the training loop of this process. Outside runs of hpcbench, it does nothing.

    Use the instance `probe` of this package: a process has one training loop.
    """

    def __init__(self) -> None:
        self._recorder: Optional[Recorder] = None
        self._in_step = False
        self._synchronizes = False
        self._was_used = False
        if os.environ.get(RUN):
            self._recorder = Recorder(os.environ[RUN])
            atexit.register(self._close)
            os.register_at_fork(after_in_child=self._forked)

    @property
    def active(self) -> bool:
        """Return whether this process records its steps."""
        return self._recorder is not None

    def __call__(self, loader: Iterable[Batch], items: Items = None, *, synchronize: bool = False) -> Iterable[Batch]:
        """Return an iterable over `loader`. Each iteration is one step, including the time to get the batch.

        `items` is the number of items of a batch in this process, or a function that returns it for a batch; without
        it, hpcbench reports no throughput. `synchronize` waits for the devices at the end of each step and phase. A
        step that `break` or an exception ends is not recorded. The loop raises ProbeError inside another step.
        """
        if self._recorder is None:
            return loader
        self._was_used = True
        loop = _Loop(self, loader, items, synchronize)
        return iter(loop) if isinstance(loader, Iterator) else loop

    def step(self, items: Optional[int] = None, *, synchronize: bool = False) -> Any:
        """Return a context manager whose body is one step of `items` items in this process.

        `synchronize` waits for the devices at the end of the step and of its phases. A step that an exception ends is
        not recorded. Entering it raises ProbeError inside another step.
        """
        self._was_used = True
        return _NOTHING if self._recorder is None else _Step(self, items, synchronize)

    def phase(self, name: str) -> Any:
        """Return a context manager whose body is the phase `name` of the current step.

        If a phase occurs several times in a step, its times are summed. Entering it raises ProbeError outside a step.
        """
        return _NOTHING if self._recorder is None else _Phase(self, name)

    def log(self, **values: Any) -> None:
        """Log numbers at the current step: `probe.log(loss=0.5)`. Copying a value from a device waits for the device.

        Raise TypeError or ValueError for a value that float() cannot convert.
        """
        if self._recorder is not None:
            for name, value in values.items():
                try:
                    number = float(value)
                except (TypeError, ValueError) as error:
                    raise type(error)("probe.log: %s: %s" % (name, error)) from None
                self._recorder.log(name, number)

    def flush(self) -> None:
        """Write buffered steps to the file. This also happens every 5 s, after each loop, and at exit."""
        if self._recorder is not None:
            self._recorder.flush()

    def _close(self) -> None:
        if self._recorder is not None:
            self._recorder.close(self._was_used)

    def _begin(self, synchronize: bool = False) -> float:
        """Begin a step, and return its start in s. Raise ProbeError inside another step."""
        self._was_used = True
        if self._in_step:
            raise ProbeError("a step is inside another step; use the probe for one loop at a time")
        self._in_step, self._synchronizes = True, synchronize
        return _clock()

    def _end(self, start: float, items: float) -> None:
        """End the step that began at `start`."""
        if self._synchronizes:
            synchronize_devices()
        end = _clock()
        self._in_step = False
        if self._recorder is not None:
            self._recorder.add(start, end, items)

    def _discard(self) -> None:
        """End the current step, if there is one, without recording it."""
        if self._in_step and self._recorder is not None:
            self._recorder.discard()
        self._in_step = False

    def _begin_phase(self, name: str) -> float:
        """Begin a phase, and return its start in s. Raise ProbeError outside a step."""
        if not self._in_step:
            what = "phase '%s' is outside a step; enter it in a loop over probe(...), or in `with probe.step()`"
            raise ProbeError(what % name)
        return _clock()

    def _end_phase(self, name: str, start: float) -> None:
        """End a phase of the current step that began at `start`."""
        if self._synchronizes:
            synchronize_devices()
        if self._recorder is not None:
            self._recorder.phase(name, _clock() - start)

    def _forked(self) -> None:
        """Start a new recorder in a child process. A process that is forked during a step records nothing."""
        if self._recorder is not None:
            self._recorder.stop()
        self._recorder = Recorder(os.environ[RUN]) if os.environ.get(RUN) and not self._in_step else None
        self._in_step = self._was_used = False


class _Loop(Generic[Batch]):
    """The batches of a loader, as steps. All other attributes are those of the loader."""

    def __init__(self, probe: Probe, loader: Iterable[Batch], items: Items, synchronize: bool) -> None:
        self._probe, self._loader, self._synchronize = probe, loader, synchronize
        self._count = items if callable(items) else None
        self._items = 0.0 if callable(items) else checked_items(items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # also while it is copied or unpickled, without a loader
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __len__(self) -> int:
        length: int = len(self._loader)  # type: ignore[arg-type]  # TypeError for a loader without a length
        return length

    def __iter__(self) -> Iterator[Batch]:
        probe, synchronize, count, items = self._probe, self._synchronize, self._count, self._items
        batches = iter(self._loader)  # starts the processes of some loaders
        if probe._recorder is None:  # in a child process of a step
            yield from batches
            return
        add = probe._recorder.add
        start = probe._begin(synchronize)
        try:
            for batch in batches:
                ready = _clock()
                yield batch
                if synchronize:
                    synchronize_devices()
                end = _clock()
                start = add(start, end, items if count is None else checked_items(count(batch)), ready - start)
        finally:
            probe._discard()
            probe.flush()


class _Step:
    """One step as the body of a `with` block."""

    __slots__ = ("_items", "_probe", "_start", "_synchronize")

    def __init__(self, probe: Probe, items: Any, synchronize: bool) -> None:
        self._probe, self._items, self._synchronize = probe, checked_items(items), synchronize

    def __enter__(self) -> None:
        self._start = self._probe._begin(self._synchronize)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._probe._end(self._start, self._items)
        else:
            self._probe._discard()


class _Phase:
    """A phase as the body of a `with` block."""

    __slots__ = ("_name", "_probe", "_start")

    def __init__(self, probe: Probe, name: str) -> None:
        self._probe, self._name = probe, name

    def __enter__(self) -> None:
        self._start = self._probe._begin_phase(self._name)

    def __exit__(self, *_: object) -> None:
        self._probe._end_phase(self._name, self._start)


class _Nothing:
    """A step or phase outside hpcbench."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def checked_items(items: Any) -> float:
    """Return the number of items of a step; 0 if unknown. Raise ValueError unless it is finite and 0 or greater."""
    try:
        number = float(items or 0)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(items, str) or not 0 <= number < float("inf"):
        raise ValueError("items must be a finite number, 0 or greater, not %r" % (items,))
    return number


_NOTHING = _Nothing()
probe = Probe()
