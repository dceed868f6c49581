"""Profile a network again at several clocks of its device, which a guard restores in any case."""

import os
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any, Callable, List, Optional

from ...core.profiling.device_state import CLOCK_KEPT, CLOCK_TOLERANCE, DeviceState
from ...core.profiling.operator_row import OperatorRow
from ..clocks import choose, guard, leftovers
from ..clocks.control import Control, NotPermitted
from ..frameworks.profile_request import ProfileRequest
from ..host.sysfs import this_system
from ..measurement import timing
from . import clock_order

if TYPE_CHECKING:
    from ..frameworks.adapter import Adapter
    from ..frameworks.computation import Computation

_READINGS = 5  # of the clock in a state
Keep = Callable[[OperatorRow], None]


def profile(
    adapter: "Adapter",
    computation: "Computation",
    request: ProfileRequest,
    number: int,
    keep: Keep,
    warnings: List[str],
) -> None:
    """Measure the network and profile its operators at up to `number` clocks; pass each row with its state to `keep`.

    Add a sentence to `warnings` if the clock cannot be changed, and for what each profile warns about.
    """
    try:
        control = choose.control_of(this_system(), _gpu_index(adapter, computation))
        if control.remark:
            warnings.append("profile: %s" % control.remark)
        with guard.guarded(control, warnings, leftovers.folder_of(os.getcwd())):  # a worker starts in its workspace
            for state in clock_order.shuffled(control.states(number), computation.problem.parameters["seed"]):
                try:
                    control.apply(state)
                except NotPermitted as error:
                    warnings.append("profile: %s was refused: %s" % (_in_words(state), error))
                else:
                    measured = _measured(computation, request)
                    warnings += _unlike(state, _clock_mhz(computation, control))
                    found = adapter.profile(computation, measured, _with_state(state, keep))
                    warnings += [warning for warning in found if warning not in warnings]
    except NotPermitted as error:
        warnings.append("%s; only the default state was profiled (%s)" % (CLOCK_KEPT, error))
    else:
        again = _measured(computation, request)
        warnings += clock_order.changed(request.step_times_s, again.step_times_s)


def _gpu_index(adapter: "Adapter", computation: "Computation") -> Optional[int]:
    """Return the index of the GPU of this rank among the visible ones; None on CPUs."""
    if not computation.problem.on_gpu:
        return None
    from ..frameworks import capabilities  # needs numpy

    return capabilities.own_gpu(computation.problem, len(adapter.devices()))


def _measured(computation: "Computation", request: ProfileRequest) -> ProfileRequest:
    """Return the request with measurements of the whole step in the present state."""
    step = _step(computation)
    samples = timing.measure(step, computation.synchronize, request.settings)
    measured_s = (samples.windows[0].start_s, samples.windows[-1].end_s)
    times_s = [time for time in samples.times_s if time is not None]
    return request._replace(step_times_s=times_s, measured_s=measured_s)


def _step(computation: "Computation") -> Callable[[], Any]:
    from .tasks import STEPS

    return STEPS[computation.problem.parameters["task"]](computation)


def _clock_mhz(computation: "Computation", control: Control) -> Optional[float]:
    """Return the median clock during some steps, for states without power windows; None if it is unknown."""
    step, found = _step(computation), []
    for _ in range(_READINGS):
        step()
        found.append(control.clock_mhz())  # a GPU still computes the step, and a CPU has just done so
        computation.synchronize()
    known = [clock_mhz for clock_mhz in found if clock_mhz is not None]
    return median(known) if known else None


def _unlike(state: DeviceState, clock_mhz: Optional[float]) -> List[str]:
    """Return a warning if the clock in a state is not the requested one."""
    wanted = state.requested_clock_mhz
    if wanted is None or clock_mhz is None or abs(clock_mhz - wanted) <= CLOCK_TOLERANCE * wanted:
        return []
    return ["profile: %s was requested, but the clock was %.0f MHz" % (_in_words(state), clock_mhz)]


def _with_state(state: DeviceState, keep: Keep) -> Keep:
    """Return a function that adds a state to a row, and keeps it."""
    return lambda row: keep(replace(row, **vars(state)))


def _in_words(state: DeviceState) -> str:
    return "%s (%s)" % (state.in_words(), state.clock_method)
