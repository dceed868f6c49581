"""Check and parse the regular expressions and JSON paths of metrics, before a sweep is planned."""

import re
from typing import List, Union

Step = Union[str, int, None]  # step of a JSON path: a key, an index, or None for every element

_PART = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>-?[0-9]+|\*)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")


def compiled(pattern: str) -> "re.Pattern[str]":
    """Return a compiled regular expression; `^` and `$` match at each line.

    Raise ValueError if the pattern is not a regular expression, or if it is unclear which group is the number.
    """
    try:
        expression = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError("'%s' is not a regular expression: %s" % (pattern, error)) from error
    if "value" not in expression.groupindex and expression.groups != 1:
        what = "has %d groups; name the group of the number `value`" % expression.groups
        what = what if expression.groups else "needs a group for the number"
        raise ValueError("'%s' %s, for example (?P<value>[0-9.]+)" % (pattern, what))
    return expression


def path_steps(path: str) -> List[Step]:
    """Return the steps of a JSON path: `runs[0].rate`, `$.runs[*].rate`, `["a.b"]`.

    Raise ValueError if the text is not such a path.
    """
    rest = path[1:] if path.startswith("$") else path
    steps: List[Step] = []
    while rest:
        part = _PART.match(rest)
        if part is None or (rest.startswith(".") and not steps and not path.startswith("$")):
            raise ValueError("'%s' is not a path such as runs[0].rate or runs[*].rate" % path)
        key, index = part.group("key"), part.group("index")
        if index is None:
            steps.append(key or part.group("quoted"))
        else:
            steps.append(None if index == "*" else int(index))
        rest = rest[part.end() :]
    return steps
