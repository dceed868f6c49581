"""Profile a network: a row for the whole step, and one for each operator."""

from typing import Callable, Iterator, List, Mapping, Sequence

import torch

from .....core.frameworks import COMPILED
from .....core.profiling.operator_row import OperatorRow
from ...profile_request import ProfileRequest
from ..network import PyTorchNetwork
from . import compiled_kernels, in_network, power_windows, rows
from .in_network import Profiled
from .in_stream import WHOLE, StreamTime, streamed
from .kinds import VIEW
from .listing import Key, Listed
from .replay import Round, captured
from .step import compiled_again, observable, operators, step_of
from .timers import CpuTimer, CudaTimer, Timer
from .timing import Pace, pace, times

# The time under torch.profiler, as a fraction of `max_time_s`: its times are only compared with those of this profiler.
_UNDER_TORCH_PROFILER = 0.2
# A step under torch.profiler, relative to the measured one: from here, the profiler takes over a third of the step.
_UNLIKE = 1.5
# Untimed steps after the kernels of the profiler: the first one compiles, and with CUDA graphs, the next ones record.
_STEPS_TO_COMPILE = 3

Keep = Callable[[OperatorRow], None]


def profile(network: PyTorchNetwork, request: ProfileRequest, keep: Keep) -> List[str]:
    """Measure the operators of a case after its own measurement, and pass each row to `keep`; return warnings.

    The weights of a training change, as in any step.
    """
    timer: Timer = CudaTimer(network.device) if network.problem.on_gpu else CpuTimer()
    device = "gpu" if network.problem.on_gpu else "cpu"
    is_compiled = network.problem.parameters["execution"] == COMPILED
    warnings: List[str] = []
    with compiled_kernels.visible_kernels(is_compiled):
        profiled_network = compiled_again(network) if is_compiled else network
        # Before torch.profiler, after which malloc returns less memory to Linux, and steps have fewer page faults.
        at_once = timer.runs_at_once and not is_compiled
        in_steps = streamed(step_of(observable(network)), step_of(network), request.settings) if at_once else {}
        budget_s = _UNDER_TORCH_PROFILER * request.settings.max_time_s
        profiled = in_network.profiled(step_of(profiled_network), timer.synchronize, budget_s)
    if is_compiled:  # for the power windows, and for what is timed after the profile
        for _ in range(_STEPS_TO_COMPILE):
            step_of(network).run()
        timer.synchronize()
    whole = rows.of_network(network, request.step_times_s, profiled, in_steps.get(WHOLE), request.measured_s)
    if is_compiled:
        measured = rows.of_kernels(compiled_kernels.kernels_of(profiled))
    else:
        measured = _measured(network, operators(network, warnings), timer, profiled, request, in_steps)
    found = (row for each in ([whole], measured) for row in each)
    on_device = (rows.on(device, row) for row in found)
    if request.windows:
        _keep_with_windows(network, request, timer, on_device, keep)
    else:
        for row in on_device:
            keep(row)
    return warnings + _warnings(profiled, whole)


def _measured(
    network: PyTorchNetwork,
    listed: Sequence[Listed],
    timer: Timer,
    profiled: Profiled,
    request: ProfileRequest,
    in_steps: Mapping[Key, StreamTime],
) -> Iterator[OperatorRow]:
    """Yield a row for each operator: first those that are not timed, then the others as they are timed."""
    inside = in_network.of_operators(profiled, listed)
    timed = {each.key: each for each in listed if each.kind != VIEW}
    for each in listed:
        if each.kind == VIEW:
            fields = in_steps[each.key]._asdict() if each.key in in_steps else {}
            yield rows.of_operator(each, inside.get(each.key), reason=rows.VIEW_REASON, **fields)
    own_pace = _pace(request, listed)
    for operator in captured(step_of(observable(network)), list(timed)):
        each = timed.pop(operator.key)
        try:
            fields = times(operator, timer, own_pace, in_steps.get(operator.key))
        except RuntimeError as error:  # of the operator: the others are still measured
            yield rows.of_operator(
                each, inside.get(each.key), reason="timing it alone failed: %s" % str(error).split("\n")[0]
            )
        else:
            yield rows.of_operator(each, inside.get(each.key), **fields)
    for each in timed.values():
        yield rows.of_operator(each, inside.get(each.key), reason=rows.GONE_REASON)


def _pace(request: ProfileRequest, listed: Sequence[Listed]) -> Pace:
    count = sum(each.kind != VIEW for each in listed)
    step_bytes = sum(each.calls * (each.output_bytes + each.weight_bytes) for each in listed if each.kind != VIEW)
    return pace(request.settings, count, step_bytes)


def _keep_with_windows(
    network: PyTorchNetwork, request: ProfileRequest, timer: Timer, found: Iterator[OperatorRow], keep: Keep
) -> None:
    """Keep each row at once, and those of the network and of chosen operators again with their power windows.

    The windows take minutes, in which the process may die: readers take the last row of an operator.
    """
    kept: List[OperatorRow] = []
    for row in found:
        keep(row)
        kept.append(row)
    whole, *others = kept

    def window(row: OperatorRow, calls: Round) -> None:
        """Keep a row again, with a window of these calls."""
        run = power_windows.run(calls, row.hot_s or 0.0, timer.synchronize, request.window_s)
        keep(power_windows.with_window(row, run))

    idle = rows.on(whole.device, rows.of_idle())
    keep(power_windows.with_window(idle, power_windows.idle(request.window_s)))
    window(whole, Round([step_of(network).run], 1))
    wanted = {rows.key_of(others[place]): others[place] for place in power_windows.chosen(others, request.windows)}
    for operator in captured(step_of(observable(network)), list(wanted)):
        with torch.inference_mode():
            window(wanted[operator.key], operator.round(1))


def _warnings(profiled: Profiled, whole: OperatorRow) -> List[str]:
    if whole.hot_s and profiled.step_s > _UNLIKE * whole.hot_s:
        message = "profile: under torch.profiler, a step took over %g times the measured step time"
        return [message % _UNLIKE + ": the times inside the network are too long"]
    return []
