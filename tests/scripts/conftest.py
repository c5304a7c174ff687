from __future__ import annotations

from typing import Any

import pytest

from tests.scripts.kit import Doors


@pytest.fixture
def doors(redis: Any) -> Doors:
    return Doors(redis)
