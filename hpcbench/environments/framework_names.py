"""The framework and strategy of an environment, by its name."""

from __future__ import annotations

from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.core.run_spec import COMMAND
from hpcbench.errors import UserError, nearest

HOROVOD = "horovod-"


def framework_and_strategy(name: str, framework: str | None = None) -> tuple[str, str]:
    """Return framework and strategy of an environment by its name: pytorch and horovod for `horovod-pytorch-x`.

    The framework is the longest framework name that is a prefix of the environment's name, unless `framework` is given.
    Raise UserError if it is not found.
    """
    strategy = "horovod" if name.startswith(HOROVOD) else "single"
    if framework is not None:
        if framework not in FRAMEWORKS:
            hint = nearest(framework, FRAMEWORKS)
            raise UserError(f"framework '{framework}' not found", where="--framework", hint=hint)
        return framework, strategy
    if name == COMMAND:
        what = "the environment 'command' has no framework to check"
        raise UserError(what, hint="to check it, run a sweep with `framework: command`")
    own = name.removeprefix(HOROVOD)
    found = max((each for each in FRAMEWORKS if own.startswith(each)), key=len, default=None)
    if found is None:
        known = ",".join(FRAMEWORKS)
        what = f"'{name}' does not begin with the name of a framework"
        raise UserError(what, hint=f"add --framework {{{known}}}")
    return found, strategy
