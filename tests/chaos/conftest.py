from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.harness import Town


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Callable[..., Town]]:
    """``town(fork=2, monitor=1)``: so many processes of each kind on a Redis of their own."""
    with ExitStack() as stack:

        def found(pause: float = 0.05, **kinds: int) -> Any:
            return stack.enter_context(Town(tmp_path, kinds, pause=pause))

        yield found
