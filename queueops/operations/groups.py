"""The groups viewer, operator and lead, made once; what an administrator changes in them stays changed."""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.db import DEFAULT_DB_ALIAS, router

GROUPS = {
    "viewer": ("view_dashboard",),
    "operator": ("view_dashboard", "operate", "replay"),
    "lead": ("view_dashboard", "operate", "replay", "release", "configure", "approve"),
}


def ensure_groups(sender: Any, using: str = DEFAULT_DB_ALIAS, apps: Any = installed, **kwargs: Any) -> None:
    """Handler of ``post_migrate``; nothing where the tables of Django's users are not, or not wanted."""
    try:
        Group, Permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    except LookupError:
        return
    if not router.allow_migrate_model(using, Group):
        return
    missing = [name for name in GROUPS if not Group.objects.using(using).filter(name=name).exists()]
    if not missing:
        return
    # auth makes the permissions in a handler of its own, which may come after this one
    create_permissions(sender, verbosity=0, using=using, apps=apps)
    for name in missing:
        group = Group.objects.using(using).create(name=name)
        group.permissions.set(
            Permission.objects.using(using).filter(content_type__app_label="queueops", codename__in=GROUPS[name])
        )
