"""The app ``queueops``."""

from django.apps import AppConfig


class QueueopsConfig(AppConfig):
    name = "queueops"
    label = "queueops"
    verbose_name = "queueops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from queueops import checks  # noqa: F401  (registers the system checks)
