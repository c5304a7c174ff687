"""The project's settings without pages, and with a changelog that keeps every event of a run: the judge reads it."""

from queueops.project.settings import *  # noqa: F403
from queueops.project.settings import QUEUEOPS as _QUEUEOPS

INSTALLED_APPS = ["queueops", "django_rq", "django.contrib.auth", "django.contrib.contenttypes"]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "tests.chaos.settings"
urlpatterns: list[object] = []
QUEUEOPS = {**_QUEUEOPS, "CHANGELOG_LENGTH": 1_000_000, "LEASE": 2}
