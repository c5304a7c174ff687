"""The app ``queueops``."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class QueueopsConfig(AppConfig):
    name = "queueops"
    label = "queueops"
    verbose_name = "queueops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from queueops import checks  # noqa: F401  (registers the system checks)
        from queueops.operations.groups import ensure_groups

        post_migrate.connect(ensure_groups, sender=self, dispatch_uid="queueops.groups")
