"""From what ``enqueue`` is given to the claims of the job."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from queueops import Middleware, Quarantine, WithoutOverlapping, WithSemaphore, controlled
from queueops.middleware import Call, Claim, ClaimError, JobControls, job_controls, registry
from tests.middleware import shop

NAME = "tests.middleware.shop.crunch_sales"


def controls_of(func_name: str, func: Any = None, *args: Any, queue: str = "default", **kwargs: Any) -> JobControls:
    found = job_controls(func_name, func, args, kwargs, queue)
    assert found
    return found


def claims_of(*args: Any, **kwargs: Any) -> dict[str, str]:
    return {claim.control: claim.instance.partition("\x1f")[2] for claim in controls_of(*args, **kwargs).claims}


CRUNCH = {f"L:{NAME}": "book:1", "S:shop-s3": "", "R:shop-mail": "7"}


def test_a_function_and_its_path_make_the_same_claims() -> None:
    assert claims_of(NAME, shop.crunch_sales, 1) == CRUNCH
    assert claims_of(NAME, None, 1) == CRUNCH
    assert claims_of(NAME, None, book_id=1, user_id=7) == CRUNCH
    assert controls_of(NAME, None, 1).function == NAME
    assert controls_of(NAME, None, 1).policy == {"after": 5, "crashes": 2}


def test_an_alias_shares_its_locks() -> None:
    assert claims_of("tests.middleware.shop.alias", None, 1) == CRUNCH
    assert controls_of("tests.middleware.shop.alias", None, 1).function == NAME


def test_an_undeclared_function_has_no_claims_and_the_default_rule(settings: Any) -> None:
    settings.QUEUEOPS = {"QUARANTINE": {"after": 7}}
    plain = controls_of("tests.middleware.shop.undeclared", None, 1)
    assert (plain.claims, plain.policy, plain.middlewares) == ((), {"after": 7, "crashes": 2}, ())


def test_without_the_code_there_are_no_controls() -> None:
    for path in (
        "no.such.module.f",
        "tests.middleware.shop.nothing",
        "tests.middleware.shop.__doc__",
        "f",
        "",
        ".",
        "a..b",
    ):
        assert job_controls(path, None, (), {}, "default") is None


def test_a_module_is_imported_and_a_broken_one_is_left_to_the_worker(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "fresh_jobs.py").write_text(
        "from queueops import WithoutOverlapping, controlled\n@controlled(WithoutOverlapping())\ndef f(): ...\n"
    )
    (tmp_path / "broken_jobs.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert claims_of("fresh_jobs.f") == {"L:fresh_jobs.f": ""}
    assert job_controls("broken_jobs.f", None, (), {}, "default") is None


def test_a_wrong_declaration_in_an_imported_module_reaches_the_caller(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "wrong_jobs.py").write_text("from queueops import WithSemaphore\nWithSemaphore('s', limit=0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="limit must be between"):
        job_controls("wrong_jobs.f", None, (), {}, "default")


def test_methods_and_what_wraps_them() -> None:
    report = shop.Report(3)
    base = "tests.middleware.shop.Report"
    assert claims_of("build", report.build, "mon") == {f"L:{base}.build": "report:3"}
    assert claims_of("build_all", shop.Report.build_all, "mon") == {f"L:{base}.build_all": "mon"}
    assert claims_of(f"{base}.build_all", None, "mon") == {f"L:{base}.build_all": "mon"}
    assert claims_of(f"{base}.tidy", shop.Report.tidy, day="mon") == {f"L:{base}.tidy": "mon"}
    partial = functools.partial(shop.crunch_sales, 1)
    assert claims_of("__call__", partial) == CRUNCH
    assert claims_of("__call__", partial.__call__, user_id=7) == CRUNCH
    assert controls_of("__call__", report, "mon").function == f"{base}.__call__"
    assert controls_of("builtins.len", len, [1]).function == "builtins.len"


def test_a_hidden_function_keeps_the_name_it_was_given() -> None:
    def decorate() -> Any:
        def wrapper() -> None: ...

        return wrapper

    assert controls_of("app.tasks.f", decorate()).function == "app.tasks.f"
    long = controls_of("app\x1f." + "f" * 300, decorate()).function
    assert len(long.encode()) <= 200 and long.isprintable()


def test_settings_declare_for_functions_and_queues(settings: Any) -> None:
    settings.QUEUEOPS = {
        "CONTROLS": {
            "tests.middleware.shop.undeclared": [WithoutOverlapping(key="{book_id}"), Quarantine(after=9)],
            "queue:low": [WithSemaphore("low-work", limit=2), WithoutOverlapping(), Quarantine(after=1)],
        }
    }
    name = "tests.middleware.shop.undeclared"
    assert claims_of(name, None, 4) == {f"L:{name}": "4"}
    assert claims_of(name, None, 4, queue="low") == {"S:low-work": "", f"L:{name}": "4"} | {f"L:{name}": ""}
    assert len(controls_of(name, None, 4, queue="low").claims) == 3
    assert controls_of(name, None, 4, queue="low").policy == {"after": 9, "crashes": 2}
    assert controls_of("builtins.len", len, [1], queue="low").policy == {"after": 1, "crashes": 2}
    assert {"S:low-work", f"L:{name}"} <= registry.definitions().keys()


@pytest.mark.parametrize(
    ("controls", "text"),
    [
        ({"f": [WithoutOverlapping()]}, r"\['f'\]: a key is a dotted function name"),
        ({"queue:": [WithoutOverlapping()]}, 'a queue, "queue:low"'),
        ({"app.f": [WithoutOverlapping]}, "an instance, not the class"),
        ({"app.f": ["lock"]}, "takes middleware"),
        (
            {"app.f": [WithSemaphore("two", limit=1)], "queue:low": [WithSemaphore("two", limit=2)]},
            r"two definitions: limit=2 at .*'queue:low'.* limit=1 at .*'app\.f'",
        ),
        ({"app.f": [WithSemaphore("shop-s3", limit=9)]}, "two definitions: limit=9 .* limit=4 at .*shop.py"),
    ],
)
def test_wrong_settings_name_the_entry(settings: Any, controls: dict[str, Any], text: str) -> None:
    settings.QUEUEOPS = {"CONTROLS": controls}
    with pytest.raises(ImproperlyConfigured, match=text):
        registry.check_settings()
    with pytest.raises(ImproperlyConfigured):
        job_controls(NAME, None, (1,), {}, "default")


def test_a_key_of_the_settings_is_checked_when_the_function_comes(settings: Any) -> None:
    settings.QUEUEOPS = {"CONTROLS": {"tests.middleware.shop.undeclared": [WithoutOverlapping(key="{shop}")]}}
    with pytest.raises(ValueError, match=r"undeclared: key='\{shop\}' names \{shop\}.*it takes book_id"):
        job_controls("tests.middleware.shop.undeclared", None, (1,), {}, "default")


def test_errors_at_enqueue_name_function_and_option() -> None:
    with pytest.raises(ClaimError, match=rf"{NAME}: WithoutOverlapping\(\): key='book:\{{book_id\}}': .* is None"):
        job_controls(NAME, None, (None,), {}, "default")
    with pytest.raises(ClaimError, match="missing a required argument"):
        job_controls(NAME, None, (), {}, "default")


class Tenant(Middleware):
    def claims(self, call: Call) -> list[Claim]:
        tenant = str(call.arguments["book_id"])
        return WithSemaphore("tenants", limit=3, key=tenant).claims(call)

    def around(self, job: Any, call_next: Any) -> Any:
        return call_next()


def test_a_middleware_of_ones_own_claims_with_the_rest() -> None:
    @controlled(Tenant(), WithoutOverlapping())
    def own(book_id: int) -> None: ...

    controls = controls_of("app.own", own, 5)
    assert [claim.instance for claim in controls.claims] == ["L:app.own\x1f", "S:tenants\x1f5"]
    assert [type(m) for m in controls.middlewares] == [Tenant]


def test_definitions_are_what_is_published() -> None:
    assert registry.definitions()["R:shop-mail"] == {
        "kind": "rate",
        "name": "shop-mail",
        "limit": 50,
        "per": 60_000_000,
        "strategy": "sliding",
        "burst": 0,
        "lease": 0,
    }


def test_a_changed_setting_is_seen(settings: Any) -> None:
    for lease in (20, 40):
        settings.QUEUEOPS = {"LEASE": lease}
        leases = {claim.control[0]: claim.lease for claim in controls_of(NAME, None, 1).claims}
        assert leases == {"L": lease * 1_000_000, "S": lease * 1_000_000, "R": 0}
