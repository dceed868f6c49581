"""The operator profile of a network that has been measured: its rows as lines of JSON in the scratch folder of the run.

An error in the profile, or the end of the process, does not lose the measurement: it becomes a warning, and the rows so
far are kept.
"""

import json
import os
import time
import traceback
from typing import TYPE_CHECKING, Any, Dict

from ...core.files import no_link
from ...core.profiling import which_cases
from ...core.profiling.operator_row import SPAN, OperatorRow
from ...core.run_spec import PlannedRun
from ...core.typed_json import to_json
from ..errors import Unsupported
from ..frameworks.profile_request import ProfileRequest
from ..host import hostname
from ..measurement import stopping_rules
from ..monitor import power_window, timeline
from . import clock_states

if TYPE_CHECKING:
    from ..frameworks.adapter import Adapter
    from ..frameworks.computation import Computation

_AUTO, _OFF = "auto", "off"  # values of `measure.profile.power`, which may also be a number of operators


def profile(
    adapter: "Adapter", computation: "Computation", planned: PlannedRun, facts: Dict[str, Any], path: str
) -> None:
    """Profile a network, and write the rows to `path`. Add warnings to `facts`.

    Also add the times of its start and its last row, between which the driver of the job judges interference.
    """
    start_s = time.monotonic()
    try:
        _check(planned)
        with open(path, "w", encoding="utf-8", opener=no_link) as file:

            def keep(row: OperatorRow) -> None:
                file.write(json.dumps(to_json(row), separators=(",", ":")) + "\n")
                file.flush()
                facts[SPAN] = [start_s, time.monotonic()]

            request = _request(planned, facts, planned.measure["profile"]["power"], os.path.dirname(path))
            facts["warnings"] += adapter.profile(computation, request, keep)
            clocks = planned.measure["profile"].get("clocks")
            if clocks:
                clock_states.profile(adapter, computation, request, clocks, keep, facts["warnings"])
    except Unsupported as error:
        facts["warnings"].append("profile: %s" % error)
    except Exception as error:
        traceback.print_exc()
        exhausted = "memory ran out" if adapter.is_out_of_memory(error) else type(error).__name__
        first = (str(error).strip().splitlines() or [""])[0]
        facts["warnings"].append("profile: stopped early (%s: %s); earlier rows are kept" % (exhausted, first))


def _check(planned: PlannedRun) -> None:
    """Raise Unsupported if the case cannot be profiled."""
    p = planned.parameters
    reason = which_cases.refusal(p["framework"], p["task"], p["strategy"], planned.ranks, p["threads"])
    if reason:
        raise Unsupported(reason)


def _request(planned: PlannedRun, facts: Dict[str, Any], power: Any, scratch: str) -> ProfileRequest:
    """Return what to profile. With `auto`, there are power windows only if the monitor has a power sensor."""
    settings = stopping_rules.settings_of(planned.measure)
    windows = facts["measurements"]["windows"]
    measured_s = (windows[0][0], windows[-1][1])
    request = ProfileRequest(settings, facts["measurements"]["times_s"], measured_s)
    if power == _OFF:
        return request
    path = os.path.join(scratch, timeline.file_name(hostname.name(os.environ)))
    seen = timeline.read(path) if os.path.exists(path) else None
    needed_s = power_window.length_s(seen, planned.on_gpus) if seen else None
    if power == _AUTO:
        return request if needed_s is None else request._replace(windows=which_cases.AUTO_WINDOWS, window_s=needed_s)
    return request._replace(windows=int(power), window_s=needed_s or which_cases.SHORTEST_WINDOW_S)
