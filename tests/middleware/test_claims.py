"""Claims and their stored text: stable, typed, one namespace for each kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queueops import RateLimited, WithoutOverlapping, WithSemaphore
from queueops.middleware import Call, Claim, decode_claims, encode_claims
from queueops.middleware.claims import merged
from queueops.middleware.control import SharedControl
from queueops.middleware.signature import Signature
from queueops.rdb import keys
from tests.middleware.shop import undeclared


def claim(control: SharedControl, book_id: object = 1, function: str = "app.f") -> Claim:
    (made,) = control.claims(Call(function, "default", (book_id,), {}, Signature(undeclared)))
    return made


def test_the_stored_text() -> None:
    made = claim(
        RateLimited("mail", key="{book_id}", limit=5, per=0.5, strategy="bucket", burst=9, weight=2, max_wait=60)
    )
    assert json.loads(encode_claims([made])) == [
        {
            "i": "R:mail\x1f1",
            "c": "R:mail",
            "k": "R",
            "w": 2,
            "n": 5,
            "per": 500_000,
            "s": "bucket",
            "b": 9,
            "l": 0,
            "o": "wait",
            "ra": 0,
            "mw": 60_000_000,
            "t": "1",
        }
    ]
    dropping = claim(WithoutOverlapping("lock", otherwise="drop", lease=5))
    assert (dropping.otherwise, dropping.lease, dropping.limit) == ("drop", 5_000_000, 1)
    coming_back = claim(WithSemaphore("s", limit=2, release_after=60))
    assert decode_claims(encode_claims([coming_back]))[0].release_after == 60_000_000


@given(st.text(min_size=1, max_size=300))
def test_any_key_survives_storing(text: str) -> None:
    made = claim(WithSemaphore("s", limit=2, key="{book_id}"), text)
    assert decode_claims(encode_claims([made])) == (made,)
    assert decode_claims(encode_claims([made]).encode()) == (made,)


def test_c10_every_kind_has_its_own_namespace() -> None:
    same = [WithoutOverlapping("x", key="k"), WithSemaphore("x", limit=1, key="k"), RateLimited("x", 1, 1, key="k")]
    assert len({claim(control).instance for control in same}) == 3


def test_c10_name_and_key_do_not_run_into_each_other() -> None:
    pairs = [("app.job", "s:x"), ("app.job:s", "x"), ("a:b", "c"), ("a", "b:c"), ("a", ""), ("a:", "")]
    assert len({claim(WithoutOverlapping(name, key=key or "")).instance for name, key in pairs}) == len(pairs)


@pytest.mark.parametrize("text", [":", "*", "{}", "\n", " ", "\0", "x" * 10_240, "#", "\x1f", "\ud800", "é", "e\u0301"])
def test_c10_unusual_keys_keep_their_readable_text(text: str) -> None:
    made = claim(WithoutOverlapping("x", key="{book_id}"), text)
    other = claim(WithoutOverlapping("x", key="{book_id}"), text + "!")
    assert made.instance != other.instance
    made.instance.encode()
    assert made.text == text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")[:1000]
    assert len(made.instance.encode()) < 300


def test_a_hashed_key_is_not_another_keys_text() -> None:
    long = claim(WithoutOverlapping("x", key="{book_id}"), "y" * 300)
    mimic = claim(WithoutOverlapping("x", key="{book_id}"), keys.split_instance(long.instance)[2])
    assert long.instance != mimic.instance


def test_one_claim_for_each_instance_locks_first() -> None:
    controls = [
        RateLimited("r", 1, 1),
        WithSemaphore("s", limit=5),
        WithSemaphore("s", limit=5, weight=3),
        WithoutOverlapping(),
    ]
    made = merged([claim(control) for control in controls])
    assert [(c.control, c.weight) for c in made] == [("L:app.f", 1), ("S:s", 3), ("R:r", 1)]


def test_a_weight_may_depend_on_the_arguments() -> None:
    control = WithSemaphore("s", limit=5, weight=lambda book_id: book_id)
    assert claim(control, 4).weight == 4
    for wrong in (0, 6, True, "3"):
        with pytest.raises(ValueError, match=r"app\.f: WithSemaphore\('s'\): weight must be a whole number"):
            claim(control, wrong)


@pytest.mark.parametrize("text", ["", "{", "null", "[1]", "[{}]", '[{"i": 5}]', b"\xff"])
def test_what_is_not_claims_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="not the claims of a job"):
        decode_claims(text)
