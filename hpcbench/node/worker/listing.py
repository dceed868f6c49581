"""List what cases compute, without running them: the operators of a step, for a prediction."""

import gc
import json
from dataclasses import replace
from typing import Any

from ...core.files import no_link
from ...core.frameworks import DYNAMIC, INPUT_PIPELINE, OPERATOR
from ...core.profiling.operator_list import FRAMEWORKS, OperatorList
from ...core.run_spec import PlannedRun, parse
from ...core.typed_json import to_json
from .. import frameworks
from ..errors import BadData, BadModel, FixedBatch, IncompleteInput, UnknownWork, Unsupported
from ..launch.ranks import Ranks
from ..launch.rendezvous import Group
from ..workload.user_code import in_one_line

_SINGLE = "it runs in several processes; a list of operators requires strategy: single, one task and one instance"
_EXPORT = "export the network without this operator, or as a .pt2 file (torch.export.save)"
_MAX_NUMBER = 2**63 - 1
_USE_SMALLER = "use a smaller batch size or input"
_TOO_LARGE = "its batch size or input is too large: an operator has 2^63 or more bytes or FLOPs"


def list_operators(arguments: Any) -> int:
    """Write the operators of the planned runs of a file to another file, one JSON object per run. Return 0.

    A case whose operators cannot be listed has the reason instead.
    """
    gc.disable()  # the process is short, and imports are a fifth faster without collections
    with open(arguments.job_file, encoding="utf-8") as file:
        planned = [parse(line) for line in file if line.strip()]
    with open(arguments.result_file, "w", encoding="utf-8", opener=no_link) as file:
        for each in planned:
            file.write(json.dumps(to_json(listed(each)), separators=(",", ":")) + "\n")
            file.flush()
    return 0


def listed(planned: PlannedRun) -> OperatorList:
    """Return the operators of a step of a case, or the reason why they cannot be listed."""
    reason, version, found = _refusal(planned), None, OperatorList(planned.case_id)
    try:
        if not reason:
            adapter = frameworks.load(planned.parameters["framework"])
            version = adapter.libraries[0].version
            from ..workload import problem  # needs numpy, which every framework requires

            found = adapter.operators_of(problem.of_case(planned.parameters, Group(Ranks(0, 1))))
    except (Unsupported, BadModel, BadData, ModuleNotFoundError) as error:
        reason = str(error)
        batch_size = error.batch_size if isinstance(error, FixedBatch) else None
        fields = error.fields if isinstance(error, IncompleteInput) else []
        hint = _EXPORT if isinstance(error, UnknownWork) else ""
        found = replace(found, lacks_input=fields, fixed_batch_size=batch_size, hint=hint)
    except Exception as error:  # of the framework, or of a model that reads values of its tensors
        reason = "its operators cannot be listed without running it (%s)" % in_one_line(error)
    if _is_too_large(found):
        reason, found = _TOO_LARGE, replace(found, operators=(), hint=_USE_SMALLER)
    return replace(found, case_id=planned.case_id, reason=reason, framework_version=version)


def _is_too_large(found: OperatorList) -> bool:
    """Return whether a number of an operator exceeds a signed 64-bit integer, which `core.typed_json` refuses."""
    return any(
        max(each.bytes_moved, each.weight_bytes, each.output_bytes, each.flops or 0) > _MAX_NUMBER
        for each in found.operators
    )


def _refusal(planned: PlannedRun) -> str:
    """Return why hpcbench lists no operators of a case; an empty text if it does."""
    parameters = planned.parameters
    if planned.is_command:
        return "it is a command, whose operators are unknown"
    if parameters["framework"] not in FRAMEWORKS:
        return "the operators of framework: %s cannot be listed" % parameters["framework"]
    if parameters["task"] in (INPUT_PIPELINE, OPERATOR):
        return "task: %s has no network" % parameters["task"]
    if parameters["strategy"] != "single" or planned.ranks > 1:
        return _SINGLE
    return "threads: dynamic is not supported" if parameters["threads"] == DYNAMIC else ""
