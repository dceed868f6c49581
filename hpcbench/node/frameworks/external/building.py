"""Call the function that builds an external model, with messages for what may go wrong."""

import difflib
from typing import Any, Callable, Dict, Iterable, Set

from ....models.source import ZOO, Source
from ...errors import BadModel, BadParameters, Unsupported
from ...launch.rendezvous import Group
from ...workload.user_code import in_one_line, last_lines


def built(title: str, build: Callable[[], Any], kinds: Any, wanted: str) -> Any:
    """Return the object that `build` makes for the model `title`: an instance of `kinds`, which are called `wanted`.

    Raise BadModel, with the end of the traceback, if it fails or returns something else.
    """
    try:
        model = build()
    except (MemoryError, Unsupported, BadModel, KeyboardInterrupt):
        raise
    except BaseException as error:  # also SystemExit
        raise BadModel("%s cannot be built: %s" % (title, in_one_line(error)), last_lines(error)) from error
    if not isinstance(model, kinds):
        raise BadModel("%s returned an object of type %s, not a %s" % (title, type(model).__name__, wanted))
    return model


def unknown_name(library: str, version: str, name: str, known: Iterable[str]) -> BadParameters:
    """Return the error for a name that a library does not have, with the nearest names that it has."""
    names = {each.lower(): each for each in known}
    near = [names[each] for each in difflib.get_close_matches(name.lower(), list(names), 3)]
    hint = "; did you mean %s?" % " or ".join(near) if near else ""
    return BadParameters("model '%s' not found in %s %s%s" % (name, library, version, hint))


def check_ranks(group: Group, fingerprint: str, differs: str) -> None:
    """Raise BadModel, which begins with `differs`, if the ranks have different models. All ranks must call this."""
    everyones = group.gather(fingerprint)
    differing = [rank for rank, other in enumerate(everyones) if other != everyones[0]]
    if differing:
        raise BadModel("%s on ranks 0 and %d" % (differs, differing[0]))


def refuse_weights(source: Source, options: Dict[str, Any], names: Set[str]) -> None:
    """Raise BadParameters if the options of a library model include one of `names`, which would load weights."""
    refused = sorted(names & set(options)) if source.kind == ZOO else []
    if refused:
        raise BadParameters("model_options: '%s' could download weights; use `weights` for a local file" % refused[0])
