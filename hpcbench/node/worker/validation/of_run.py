"""The validation of a run, after its measurement: of an operator, of a network, or of the data of a training."""

from typing import TYPE_CHECKING, Any, Callable, Dict

from ....core.typed_json import to_json
from ....core.validation.result import FAILED, NOT_VALIDATED, Validation
from ...errors import Invalid
from ...host import hardware
from .data_check import check_data
from .external_networks import validate_external
from .networks import validate_network
from .retained_memory import retained
from .update_check import ran_out_of_memory, with_updates
from .validate import validate

if TYPE_CHECKING:
    from ...frameworks.adapter import Adapter


def validate_run(adapter: "Adapter", computation: Any, facts: Dict[str, Any]) -> bool:
    """Add the validation of an operator, a network or the data of a training to the facts of a run.

    Return whether this rank has done the same steps as the others, which it has not if it ran out of memory. Raise
    Invalid if the results are wrong.
    """
    facts["peak_memory_bytes"] = hardware.peak_resident_bytes()  # without the validation
    in_step = True
    try:
        with retained():
            validation = _validation(adapter, computation, facts)
    except Exception as error:
        if not ran_out_of_memory(adapter, error):
            raise
        validation, in_step = Validation(NOT_VALIDATED, "the validation ran out of memory"), False
    facts["validation"] = to_json(validation)
    if validation.verdict == FAILED:
        raise Invalid(validation.reason)
    return in_step


def _validation(adapter: "Adapter", computation: Any, facts: Dict[str, Any]) -> Validation:
    problem = computation.problem
    if problem.training and problem.parameters["data"]:
        return check_data(computation)
    before = facts["threads"]["intra_op"]

    def with_threads(count: int, call: Callable[[], Any]) -> Any:
        adapter.set_threads(count, None)
        try:
            return call()
        finally:
            adapter.set_threads(before, None)

    counts = sorted({1, 2, len(facts["affinity"])})
    run = with_threads if adapter.changes_threads else None
    if problem.operator is not None:
        return validate(computation, run, counts)
    of_network = validate_network if problem.layers else validate_external
    return with_updates(of_network(adapter, computation, run, counts), adapter, computation)
