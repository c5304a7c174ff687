"""Guessing passwords: locked out per name and address, on every login page."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support import ROOT


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_superuser("ann", password="right-1-horse")


def guess(client: Client, address: str, password: str, **more: Any) -> Any:
    return client.post(address, {"username": "ann", "password": password, "next": "/"}, **more)


@pytest.mark.parametrize("address", ["/login/", "/admin/login/"])
def test_who_guesses_is_locked_out(client: Client, ann: User, redis: Any, address: str) -> None:
    for _ in range(10):
        answer = guess(client, address, "wrong")
    assert answer.status_code == 429
    answer = guess(client, address, "right-1-horse")
    page = answer.content.decode()
    assert answer.status_code == 429 and "Too many failed logins" in page and "axes_reset_username" in page
    assert guess(client, address, "right-1-horse", REMOTE_ADDR="10.1.2.3").status_code == 302, (
        "the owner elsewhere is not"
    )


def test_a_right_password_forgets_the_wrong_ones(client: Client, ann: User, redis: Any) -> None:
    for _ in range(3):
        for _ in range(8):
            guess(client, "/login/", "wrong")
        assert guess(client, "/login/", "right-1-horse").status_code == 302
        client.logout()


def test_the_lockout_speaks_japanese(client: Client, ann: User, redis: Any) -> None:
    for _ in range(10):
        answer = guess(client, "/login/", "wrong", headers={"Accept-Language": "ja"})
    assert "ログインの失敗が多すぎます" in answer.content.decode()


def test_the_deployment_check_is_clean() -> None:
    """With the environment of docs/deployment.md, in a process of its own."""
    env = {
        **os.environ,
        "HTTPS": "1",
        "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
        "ALLOWED_HOSTS": "queue.example.org",
        "CSRF_TRUSTED_ORIGINS": "https://queue.example.org",
        "DEBUG": "",
    }
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    answer = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
