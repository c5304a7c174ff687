"""As ``queueops.project.settings``, with the addresses of another project."""

from queueops.project.settings import *  # noqa: F403

ROOT_URLCONF = "tests.browser.mounted_urls"
