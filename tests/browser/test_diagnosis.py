"""The diagnosis with late queues: readable in both themes, and no wider than a phone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_axe import faults, load
from tests.browser.test_browser import Open
from tests.dashboard.test_diagnosis import does, late, usually, worker

pytestmark = pytest.mark.browser

LONG = "a-very-long-name-of-a-queue-that-somebody-made"
FUNCTION = "shop.reports.quarterly.build_the_very_long_report_of_all_branches"


def test_hypotheses_are_readable(open_page: Open, redis: Any, publish: Any) -> None:
    usually(redis)
    does(redis, accepted=30, completed=5, failed_attempt=9, mean=4.0)
    does(redis, LONG, FUNCTION, accepted=10, completed=3, failed_attempt=7)
    worker(redis, "busy")
    for width in (390, 1280):
        publish(late(inflow=30, completed=5), late(LONG, completed=0), late("c", oldest_age=40.0))
        page = open_page("/", width=width, bypass_csp=True)
        load(page, "/diagnosis/")
        assert page.locator("h3", has_text="Perhaps: ").count() == 5
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert faults(page, "/diagnosis/") == []
