"""Keys made of a call's arguments: ``"book:{book_id}"``, or a callable that is given them."""

from __future__ import annotations

import dataclasses
import inspect
import re
import string
from collections.abc import Callable, Mapping
from typing import Any

from queueops.middleware.call import Call
from queueops.middleware.errors import ClaimError, DeclarationError
from queueops.middleware.signature import Signature

_FIELD = re.compile(r"([^\W\d]\w*)((?:\.[^\W\d_]\w*|\[[^\[\]]+\])*)\Z")
_STEP = re.compile(r"\.(\w+)|\[([^\[\]]+)\]")
_PLAIN_TYPES = frozenset({str, int, bool, float})
_MOST_PARTS = 10_000
"""Parts of a list whose text is still taken as a key."""


class _Placeholder:
    """``{book_id}``, ``{user.id}``, ``{options[shop]}``: an argument and the steps into it."""

    __slots__ = ("delimiter", "escape", "name", "steps", "text")

    def __init__(self, text: str, name: str, steps: tuple[tuple[str, str], ...]) -> None:
        self.text = text
        self.name = name
        self.steps = steps
        self.delimiter = ""
        self.escape = "\\"

    def value(self, arguments: Mapping[str, Any]) -> Any:
        value = arguments[self.name]
        for attribute, item in self.steps:
            if attribute:
                value = getattr(value, attribute)
            else:
                value = value[int(item) if item.isdigit() and not isinstance(value, Mapping) else item]
        return value


class Key:
    """A compiled ``key=`` option. ``constant`` is its text when it does not depend on the call."""

    def __init__(self, owner: str, template: str | Callable[..., Any]) -> None:
        self.template = template
        self.constant: str | None = None
        self._parts: list[str | _Placeholder] = []
        self._caller: ArgumentCaller | None = None
        if isinstance(template, str):
            self._parts = _compile(owner, template)
            if all(isinstance(part, str) for part in self._parts):
                self.constant = "".join(str(part) for part in self._parts)
        elif callable(template):
            self._caller = ArgumentCaller(owner, "key", template)
        else:
            raise DeclarationError(f'{owner}: key must be text like "book:{{book_id}}" or a callable, not {template!r}')

    def check(self, owner: str, function: str, signature: Signature) -> None:
        """Raise ``DeclarationError`` when the key names an argument that ``function`` does not take."""
        if self._caller:
            self._caller.check(function, signature)
        for part in self._parts:
            if isinstance(part, _Placeholder) and part.name not in signature.names and not signature.open:
                raise DeclarationError(
                    f"{owner} on {function}: key={self.template!r} names {{{part.name}}}, which is not an argument "
                    f"of the function; {_choices(signature)}"
                )

    def render(self, owner: str, call: Call) -> str:
        """The key of one call. None, missing or empty parts are a ``ClaimError``: they would join unrelated jobs."""
        if self.constant is not None:
            return self.constant
        arguments = call.arguments
        if self._caller:
            text = self._caller(call.function, arguments)
            if not isinstance(text, str) or not text:
                raise ClaimError(f"{call.function}: {owner}: the key callable returned {text!r}, not a text")
            return text
        out = []
        for part in self._parts:
            out.append(part if isinstance(part, str) else self._text(owner, call.function, part, arguments))
        return "".join(out)

    def _text(self, owner: str, function: str, part: _Placeholder, arguments: Mapping[str, Any]) -> str:
        where = f"{function}: {owner}: key={self.template!r}: {{{part.text}}}"
        try:
            value = part.value(arguments)
            # looked at before its text is made, which would double on each level of a list that is shared
            wrong = "" if type(value) in _PLAIN_TYPES else _unstable(value)
            text = wrong or str(value)
        except Exception as problem:
            raise ClaimError(f"{where} cannot be read: {type(problem).__name__}: {problem}") from problem
        if value is None or not text:
            raise ClaimError(f"{where} is {'None' if value is None else 'empty'}; a key needs a value")
        if not wrong and " at 0x" in text and type(value).__str__ is object.__str__:
            wrong = "has no stable text"
        if wrong:
            raise ClaimError(
                f"{where} is a {type(value).__name__}, which {wrong}; name a part of it, like {{{part.text}.id}}, or "
                "give a callable"
            )
        if part.delimiter and (part.delimiter in text or part.escape in text):
            # Otherwise ("a:b", "c") and ("a", "b:c") would share the key "a:b:c".
            text = text.replace(part.escape, part.escape * 2).replace(part.delimiter, part.escape + part.delimiter)
        return text


class ArgumentCaller:
    """A callable option: it names the arguments that it wants, or takes one mapping of all of them."""

    def __init__(self, owner: str, option: str, function: Callable[..., Any]) -> None:
        self.owner = owner
        self.option = option
        self.function = function
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise DeclarationError(f"{owner}: the parameters of the {option} callable cannot be read") from None
        self._names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self._needed = {p.name for p in parameters if p.default is p.empty and p.name in self._names}
        self._rest = any(p.kind is p.VAR_KEYWORD for p in parameters)
        positional = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
        if len(positional) > 1 or any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise DeclarationError(f"{owner}: the {option} callable must name the arguments that it wants")
        self._one = len(positional) + len(self._names) == 1 and not self._rest
        self._positional = bool(positional)

    def takes_mapping(self, names: Any) -> bool:
        return self._positional or (self._one and self._names[0] not in names)

    def check(self, function: str, signature: Signature) -> None:
        unknown = self._needed - signature.names
        if unknown and not signature.open and not self.takes_mapping(signature.names):
            raise DeclarationError(
                f"{self.owner} on {function}: its {self.option} callable wants {', '.join(sorted(unknown))}, which "
                f"the function does not take; {_choices(signature)}"
            )

    def __call__(self, function: str, arguments: Mapping[str, Any]) -> Any:
        try:
            if self.takes_mapping(arguments):
                return self.function(arguments)
            if self._rest:
                return self.function(**arguments)
            return self.function(**{name: arguments[name] for name in self._names if name in arguments})
        except Exception as problem:
            raise ClaimError(
                f"{function}: {self.owner}: the {self.option} callable failed: {type(problem).__name__}: {problem}"
            ) from problem


def _unstable(value: Any) -> str:
    """Why equal values may have different texts (a set or a dict inside, written in any order), or no short one."""
    if type(value).__str__ is not object.__str__ and not isinstance(value, (set, frozenset, Mapping)):
        return ""
    waiting = [value]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return ""
        item = waiting.pop()
        if isinstance(item, (set, frozenset, Mapping)):
            return "has no stable text"
        if isinstance(item, (list, tuple)):
            waiting += item
        elif dataclasses.is_dataclass(item) and hasattr(type(item).__repr__, "__wrapped__"):
            # its text is made by dataclasses, of all its fields
            waiting += [getattr(item, field.name, None) for field in dataclasses.fields(item) if field.repr]
    return f"has more than {_MOST_PARTS:,} parts"


def _choices(signature: Signature) -> str:
    if signature.inspected is None:
        return "its arguments cannot be read, so leave out the key"
    return f"it takes {', '.join(sorted(signature.names))}" if signature.names else "it takes none"


def _compile(owner: str, template: str) -> list[str | _Placeholder]:
    """The literals and placeholders of a template, in order."""
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as problem:
        raise DeclarationError(f"{owner}: key={template!r}: {problem}; write {{{{ or }}}} for a brace") from None
    parts: list[str | _Placeholder] = []
    for literal, name, spec, conversion in parsed:
        if literal:
            parts.append(literal)
        if name is None:
            continue
        match = _FIELD.match(name)
        if not match:
            raise DeclarationError(
                f"{owner}: key={template!r}: {{{name}}} must name an argument, like {{book_id}} or {{user.id}}"
            )
        if spec or conversion not in (None, "s"):
            raise DeclarationError(
                f"{owner}: key={template!r}: {{{name}}} renders with str(): for another form give a callable"
            )
        if parts and isinstance(parts[-1], _Placeholder):
            raise DeclarationError(
                f"{owner}: key={template!r}: put a separator before {{{name}}}, or 1 and 23 look like 12 and 3"
            )
        steps = tuple((m[1] or "", m[2] or "") for m in _STEP.finditer(match[2]))
        parts.append(_Placeholder(name, match[1], steps))
    last = max((i for i, part in enumerate(parts) if isinstance(part, _Placeholder)), default=0)
    for i, part in enumerate(parts[:last]):
        if isinstance(part, _Placeholder):
            part.delimiter = str(parts[i + 1])[0]
            # a separator cannot escape itself
            part.escape = "^" if part.delimiter == "\\" else "\\"
    return parts
