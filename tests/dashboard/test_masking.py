"""C32: secrets never reach a page."""

from __future__ import annotations

import pytest

from dashboard.masking import MASK, mask, mask_text, secret_name


@pytest.mark.parametrize(
    "text",
    [
        "f(1, password='hunter2secret')",
        'f(password="hunter2secret", n=1)',
        '{"a": {"b": {"api_key": "hunter2secret"}}}',
        "{'user': 'x', 'Authorization': 'Bearer hunter2secret'}",
        "Authorization: Bearer hunter2secret\nAccept: */*",
        "postgres://bob:hunter2secret@db/shop",
        "redis://:hunter2secret@cache:6379/0",
        "https://x.example/?token=hunter2secret&page=2",
        "auth=('bob', 'hunter2secret')",
        "db_password = b'hunter2secret'",
        "dbPassword='hunter2secret'",
        "client_secret='it\\'s hunter2secret'",
        '"{\\"token\\": \\"hunter2secret\\"}"',
        "session_key=hunter2secret;",
        "credentials={'nested': {'deep': ['hunter2secret', {'k': ')'}]}}",
        "Proxy-Authorization: Basic aHVudGVyMnNlY3JldA== hunter2secret",
    ],
)
def test_the_secret_is_masked(text: str) -> None:
    assert "hunter2secret" not in mask_text(text)
    assert MASK in mask_text(text)


@pytest.mark.parametrize(
    "text",
    ["book_id=4411", "KeyError: 'x'", "f(1, 2, keyword='monkey')", "author='Soseki'", "passage=3", "", "pinned=True"],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask_text(text) == text


def test_what_follows_a_secret_stays_readable() -> None:
    assert mask_text("f(token='a, b', book_id=5)") == f"f(token={MASK}, book_id=5)"


def test_structures_are_masked_at_any_depth() -> None:
    value = {"a": [{"dbToken": "x", "n": 1}], "url": "http://u:p@h/", "deep": {"pin": 1234}}
    assert mask(value) == {"a": [{"dbToken": MASK, "n": 1}], "url": f"http://u:{MASK}@h/", "deep": {"pin": MASK}}


def test_a_bottomless_structure_ends() -> None:
    value: list[object] = []
    for _ in range(100):
        value = [value]
    assert MASK in repr(mask(value))


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "apiKey", "x-api-key", "auth", "refreshToken", "pin"])
def test_secret_names(name: str) -> None:
    assert secret_name(name)
