"""One call that is about to be enqueued, as middleware sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueops.middleware.errors import ClaimError
from queueops.middleware.signature import Signature


class Call:
    """``function`` (dotted name), ``queue`` (name), ``args``, ``kwargs``, and ``arguments`` bound to names."""

    __slots__ = ("_arguments", "_signature", "args", "function", "kwargs", "queue")

    def __init__(
        self, function: str, queue: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], signature: Signature
    ) -> None:
        self.function = function
        self.queue = queue
        self.args = args
        self.kwargs = kwargs
        self._signature = signature
        self._arguments: dict[str, Any] | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments by name, defaults included. A call that does not fit the function is a ``ClaimError``."""
        if self._arguments is None:
            try:
                self._arguments = self._signature.bind(self.args, self.kwargs)
            except TypeError as problem:
                raise ClaimError(f"{self.function}: its controls need its arguments, but {problem}") from None
        return self._arguments
