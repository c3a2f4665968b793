"""What a Spark or Delta error really says.

pyspark shows the outermost exception, and for some Delta errors only that their error class is not
known to Spark. The sentence a person needs is the first one, from the outside in, that carries an
error class of its own; where none does, the innermost message.
"""

from __future__ import annotations

import re
from typing import Any

_CLASS = re.compile(r"^\s*\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_NOT_TELLING = ("INTERNAL_ERROR", "FAILED_EXECUTE_COMMAND", "TASK_WRITE_FAILED")
_STACK_LINE = re.compile(r"\n\s*at [\w.$]+\(|\n\nJVM stacktrace:|\nDriver stacktrace:")
_INNER = re.compile(r"\[([A-Z][A-Z0-9_.]{5,})\] [^\n]+")
_CAUSED_BY = re.compile(r"Caused by: [\w.$]+: ([^\n]+)")
_REMOTE_CLASS = re.compile(r"^\([\w.$]+\)\s+")
_REMOTE_CAUSE = re.compile(
    r"(?:^|\n)Caused by: ([\w.$]+): (.*?)(?=\n\s*at |\nCaused by: |\Z)", re.DOTALL
)
_UNANSWERED = re.compile(r'StatusCode\.UNAVAILABLE\s+details = "(.*?)"', re.DOTALL)
_LOST = "Cannot find main error class"
_MAX_CAUSES = 20


def telling_sentence(error: BaseException) -> str:
    """The message that helps, without any Java stack."""
    error = _before_pyspark_lost_it(error)
    throwable = java_exception(error)
    remote = remote_causes(error)
    if throwable is None and not remote:
        return _without_stack(_python_message(error)) or type(error).__name__
    texts = [text for _, text in remote] or [t for t in map(_text, _causes(throwable)) if t]
    messages = [_without_stack(text) for text in texts]
    for message in messages:
        match = _CLASS.match(message)
        if match and not match.group(1).startswith(_NOT_TELLING):
            return message
    for message in messages:
        for inner in _INNER.finditer(message):
            if not inner.group(1).startswith(_NOT_TELLING):
                return inner.group(0)
    if not messages:
        return remote[0][0] if remote else str(throwable.getClass().getName())
    root = root_cause("\n".join(texts))
    return f"{messages[-1]} ({root})" if root and root not in messages[-1] else messages[-1]


def root_cause(stack: str) -> str | None:
    """What the last `Caused by` of a Java stack says: a full disk is told there and nowhere else.

    >>> root_cause("Job aborted\\nCaused by: java.io.IOException: No space left on device\\n\\tat x")
    'No space left on device'
    """
    found = _CAUSED_BY.findall(stack)
    return str(found[-1]).strip() if found else None


def error_class(sentence: str) -> str | None:
    """
    >>> error_class("[TABLE_OR_VIEW_NOT_FOUND] The table or view ...")
    'TABLE_OR_VIEW_NOT_FOUND'
    """
    match = _CLASS.match(sentence)
    return match.group(1) if match else None


def remote_causes(error: BaseException) -> list[tuple[str, str]]:
    """Class and message of an error that came from a server and of its causes, from the outside in."""
    stack = getattr(error, "_stacktrace", None)
    if not stack:
        return []
    outer = str(stack).split("\n", 1)[0]
    first = outer.split(":", 1)[0].strip()
    return [(first, _REMOTE_CLASS.sub("", _python_message(error))), *_REMOTE_CAUSE.findall(stack)]


def java_exception(error: BaseException) -> Any:
    """The Throwable behind a pyspark or py4j error; None for an error of Python's."""
    origin = getattr(error, "_origin", None)
    return origin if origin is not None else getattr(error, "java_exception", None)


def _before_pyspark_lost_it(error: BaseException) -> BaseException:
    """pyspark asks Spark for the text of an error class that only Delta knows, and fails at that.

    The error that it was about to describe is the context of the one it raised.
    """
    while error.__context__ is not None and _LOST in str(error):
        error = error.__context__
    return error


def _causes(throwable: Any) -> list[Any]:
    found: list[Any] = []
    while throwable is not None and len(found) < _MAX_CAUSES:
        found.append(throwable)
        throwable = throwable.getCause()
    return found


def _text(throwable: Any) -> str:
    try:
        return str(throwable.getMessage() or "")
    except Exception:  # a getMessage that itself looks for an unknown error class
        return ""


def _python_message(error: BaseException) -> str:
    describe = getattr(error, "getMessage", None)
    text = str(describe()) if callable(describe) else str(error)
    lost = _UNANSWERED.search(text)
    if lost is not None:
        return f"The server does not answer ({lost.group(1).strip()})."
    return _REMOTE_CLASS.sub("", text)


def _without_stack(text: str) -> str:
    return _STACK_LINE.split(text, maxsplit=1)[0].strip()
