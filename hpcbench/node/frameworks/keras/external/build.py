"""Build the external model of a case: by its name in keras.applications, or by the user's function."""

import inspect
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import keras

from .....models.inputs import UNNAMED, Input, is_single
from .....models.source import FUNCTION, Source, source_of
from ....errors import BadModel
from ....workload import user_code
from ....workload.problem import Problem
from ...external.building import built, refuse_weights, unknown_name
from ...external.network import ExternalNetwork
from ...external.trace import Trace, fingerprint
from ..layers import dtype_policy
from . import structure

_OF_WEIGHTS = {"weights"}  # options of keras.applications that load weights
# Logits, as the loss expects them; without it, the models compute probabilities.
_LOGITS = {"classifier_activation": None}


def model_of(
    network: ExternalNetwork, problem: Problem, trace: Callable[[keras.Model, Any, str], Trace]
) -> keras.Model:
    """Return the model of a case with its weights, and describe it to its network.

    `trace` runs the forward pass of one item on the backend of Keras. Raise BadModel if the model cannot be used.
    """
    parameters = problem.parameters
    keras.config.disable_traceback_filtering()  # its messages begin with the layer, instead of the error
    # A model with more than one layout would not be the same on all backends.
    keras.config.set_image_data_format("channels_last")
    keras.config.set_dtype_policy(dtype_policy(problem))
    # The dtype of inputs: otherwise, a model in 16 bits would cast them to float32 first.
    keras.config.set_floatx("float32" if problem.training else parameters["dtype"])
    keras.utils.set_random_seed(parameters["seed"])  # the same weights on all ranks
    with _initializing_in_float32():
        model, known = _built(source_of(parameters["model"]), parameters)

        def traced(item: Any, shown: str) -> Trace:
            _check_names(model, item)
            if not model.built:
                model(_symbolic(item), training=False)
            with structure.step_by_step(model):
                found = trace(model, item, shown)
            return found._replace(fingerprint=fingerprint([shown, *structure.lines(model), str(found.output_shape)]))

        network.describe(known, traced)
    _vary_dropout(model, problem.group.rank)
    if parameters["weights"] is not None:
        _load(model, parameters["weights"])
    return model


def _built(source: Source, parameters: Dict[str, Any]) -> Tuple[keras.Model, Dict[str, Input]]:
    """Return the model, and the inputs that keras.applications defines."""
    text, options = parameters["model"], parameters["model_options"]
    refuse_weights(source, options, _OF_WEIGHTS)
    if source.kind == FUNCTION:
        function = user_code.function(text, "model")
        return built(text, lambda: function(**options), keras.Model, "keras.Model"), {}
    known = {name: each for name, each in vars(keras.applications).items() if inspect.isfunction(each)}
    if source.name not in known:
        raise unknown_name("Keras", keras.__version__, source.name, known)
    given = {"weights": None, "input_shape": _shape(parameters["input"]), **_LOGITS, **options}
    model = built(text, lambda: known[source.name](**given), keras.Model, "keras.Model")
    (start,) = model.inputs
    shape = tuple(start.shape[1:])
    return model, {} if None in shape else {UNNAMED: Input(shape)}


def _shape(given: Optional[Dict[str, Any]]) -> Optional[Tuple[int, ...]]:
    """Return the shape of the input of the experiment, for which keras.applications builds the model."""
    fields = given if given and is_single(given) else next(iter((given or {}).values()), {})
    return tuple(fields["shape"]) if fields.get("shape") else None


def _check_names(model: keras.Model, item: Any) -> None:
    """Raise BadModel if the names of inputs are not those of a functional model, which not all backends check."""
    wanted = model.input if hasattr(model, "operations") else None
    if isinstance(item, dict) and isinstance(wanted, dict) and set(item) != set(wanted):
        raise BadModel("'input' has %s, but the model requires %s" % (", ".join(item), ", ".join(wanted)))


def _symbolic(item: Any) -> Any:
    """Return the inputs of a batch of any size, for a model that gets its weights in its first call."""
    if isinstance(item, dict):
        return {name: _symbolic(each) for name, each in item.items()}
    return keras.KerasTensor((None, *item.shape[1:]), str(item.dtype))


def _vary_dropout(model: keras.Model, rank: int) -> None:
    """Give each rank its own random numbers."""
    for variable in model.variables:
        if rank and variable.path.endswith("seed_generator_state"):
            variable.assign(variable.value + keras.ops.convert_to_tensor([rank, 0], variable.dtype))


def _load(model: keras.Model, path: str) -> None:
    """Load the weights of a file that `save_weights` wrote; such files contain neither pickles nor code."""
    try:
        model.load_weights(path)
    except MemoryError:
        raise
    except Exception as error:
        what = "weights: %s cannot be loaded: %s" % (path, user_code.in_one_line(error))
        raise BadModel(what, user_code.last_lines(error)) from error


@contextmanager
def _initializing_in_float32() -> Iterator[None]:
    """Let the orthogonal initializer of recurrent layers compute in float32: no backend has a QR of 16-bit numbers."""
    kind = keras.initializers.Orthogonal
    original = kind.__call__

    def call(self: Any, shape: Any, dtype: Any = None) -> Any:
        return keras.ops.cast(original(self, shape, "float32"), dtype or keras.config.floatx())

    kind.__call__ = call
    try:
        yield
    finally:
        kind.__call__ = original
