"""Models of transformers, from their configuration, with random weights or those of a local folder."""

import difflib
import importlib
from typing import Any, Dict, List, Optional

from .....models.inputs import TOKENS, Input
from ....errors import BadModel, BadParameters
from ....workload.user_code import in_one_line, last_lines
from ...external.building import unknown_name
from . import of_torchvision
from .built import Built, built

LENGTH = 128  # of a sequence of tokens, unless `input` gives another
SECONDS = 1  # of sound
_RATE = 16_000  # samples per second
# Training would skip layers at random, different ones on each rank. Unless set in model_options, it runs all layers.
_LAYER_DROPS = ("layerdrop", "encoder_layerdrop", "decoder_layerdrop")
# A model type has the class of the first task here that it supports.
_TASKS = ("MASKED_LM", "CAUSAL_LM", "IMAGE_CLASSIFICATION", "AUDIO_CLASSIFICATION", "SEQUENCE_CLASSIFICATION")
_ENCODER_DECODER_TASKS = ("SEQ_TO_SEQ_CAUSAL_LM", "SPEECH_SEQ_2_SEQ")


def build(name: str, options: Dict[str, Any], weights: Optional[str]) -> Built:
    """Return a model by its type (`bert`) or class (`BertForSequenceClassification`).

    `options` are values of its configuration. `weights` is a folder that save_pretrained wrote. Raise
    BadParameters for an unknown name or option, and Unsupported if transformers is not installed.
    """
    transformers = of_torchvision.import_dependent("transformers")
    kind, configuration = _kind_and_configuration(transformers, name)
    configuration = _configured(configuration, options, name, weights)
    kind = kind or _usual_class(transformers, configuration)
    title, remarks = "transformers/%s" % name, []
    if weights is None:
        module = built(title, lambda: kind._from_config(configuration))
    else:
        load = kind.from_pretrained
        known = {"config": configuration, "local_files_only": True, "use_safetensors": True}
        report: Dict[str, Any] = {}

        def loaded() -> Any:
            module, found = load(weights, output_loading_info=True, **known)
            report.update(found)
            return module

        module = built(title, loaded)
        missing = sorted(report.get("missing_keys") or ())
        if missing:
            what = (weights, len(missing), missing[0])
            remarks.append(
                "'%s' does not contain %d weight tensors of the model, e.g. %s; their values are random" % what
            )
    return Built(module, _inputs(module, configuration), remarks)


def _kind_and_configuration(transformers: Any, name: str) -> Any:
    """Return the class, or None for a model type, and the class of its configuration."""
    types = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING_NAMES
    if name in types:
        return None, getattr(transformers, types[name])
    found: Any = getattr(transformers, name, None)
    configuration = getattr(found, "config_class", None)
    if configuration and issubclass(found, transformers.PreTrainedModel):
        return found, configuration
    classes = [each for each in dir(transformers) if each.endswith(("Model", "LM")) or "For" in each]
    raise unknown_name("transformers", transformers.__version__, name, [*types, *classes])


def _configured(kind: Any, options: Dict[str, Any], name: str, weights: Optional[str]) -> Any:
    """Return the configuration with the options; transformers itself would accept unknown names."""
    try:
        usual = kind() if weights is None else kind.from_pretrained(weights, local_files_only=True)
        unknown = [option for option in options if option not in _settable(usual)]
        if unknown:
            near = difflib.get_close_matches(unknown[0], _settable(usual), 3)
            hint = "; did you mean %s?" % " or ".join(near) if near else ""
            raise BadParameters("unknown option '%s' in model_options of transformers/%s%s" % (unknown[0], name, hint))
        configuration = kind(**{**(usual.to_dict() if weights else {}), **options}) if options else usual
        for name in _LAYER_DROPS:
            if hasattr(configuration, name) and name not in options:
                setattr(configuration, name, 0.0)
        return configuration
    except (OSError, ValueError, TypeError) as error:
        what = "transformers/%s cannot be configured: %s" % (name, in_one_line(error))
        raise BadModel(what, last_lines(error)) from error


def _settable(configuration: Any) -> List[str]:
    return [*configuration.to_dict(), *getattr(configuration, "attribute_map", {}), "attn_implementation"]


def _usual_class(transformers: Any, configuration: Any) -> Any:
    """Return the class of a model type with the head of its usual task, or without a head if it supports none."""
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    tasks = _ENCODER_DECODER_TASKS if getattr(configuration, "is_encoder_decoder", False) else ()
    for task in (*tasks, *_TASKS):
        names = getattr(auto, "MODEL_FOR_%s_MAPPING_NAMES" % task).get(configuration.model_type)
        if names:
            return getattr(transformers, names if isinstance(names, str) else names[0])
    names = auto.MODEL_MAPPING_NAMES.get(configuration.model_type)
    if not names:
        raise BadParameters(
            "transformers/%s has no class of its own; use the name of a class" % configuration.model_type
        )
    return getattr(transformers, names if isinstance(names, str) else names[0])


def _inputs(module: Any, configuration: Any) -> Dict[str, Input]:
    """Return the main input of the model and, for an encoder and decoder, the tokens of the decoder."""
    main = module.main_input_name
    inputs = {main: _input(main, configuration)}
    if getattr(configuration, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = _tokens(configuration)
    return {name: each for name, each in inputs.items() if each}


def _input(name: str, configuration: Any) -> Any:
    if name == "input_ids":
        return _tokens(configuration)
    if name == "pixel_values":
        size = getattr(configuration, "image_size", 224)
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        return Input((getattr(configuration, "num_channels", 3), height, width))
    if name == "input_values":
        return Input((SECONDS * _RATE,))
    if name == "input_features" and hasattr(configuration, "num_mel_bins"):
        return Input((configuration.num_mel_bins, 2 * configuration.max_source_positions))
    return None


def _tokens(configuration: Any) -> Input:
    try:
        text = configuration.get_text_config()
    except ValueError:  # there are several
        text = configuration
    longest = getattr(text, "max_position_embeddings", None) or LENGTH
    return Input((min(LENGTH, longest) if longest > 0 else LENGTH,), TOKENS, getattr(text, "vocab_size", None))
