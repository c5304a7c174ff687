"""The groups viewer, operator and lead, made once; what an administrator changes in them stays changed."""

from __future__ import annotations

from typing import Any

from django.db import DEFAULT_DB_ALIAS

GROUPS = {
    "viewer": ("view_dashboard",),
    "operator": ("view_dashboard", "operate", "replay"),
    "lead": ("view_dashboard", "operate", "replay", "release", "configure", "approve"),
}


def ensure_groups(sender: Any, using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Handler of ``post_migrate``."""
    from django.apps import apps
    from django.contrib.auth.management import create_permissions

    if not apps.is_installed("django.contrib.auth"):
        return
    Group = apps.get_model("auth", "Group")
    Permission = apps.get_model("auth", "Permission")
    missing = [name for name in GROUPS if not Group.objects.using(using).filter(name=name).exists()]
    if not missing:
        return
    # auth makes the permissions in a handler of its own, which may come after this one
    create_permissions(sender, verbosity=0, using=using)
    for name in missing:
        group = Group.objects.using(using).create(name=name)
        group.permissions.set(
            Permission.objects.using(using).filter(content_type__app_label="queueops", codename__in=GROUPS[name])
        )
