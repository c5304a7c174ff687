"""The runnable project. Everything that differs between two installations comes from the environment:

REDIS_URL, DATABASE_URL, SECRET_KEY, DEBUG, ALLOWED_HOSTS, CSRF_TRUSTED_ORIGINS (comma-separated), HTTPS,
QUEUEOPS_STATE_DIR (default ``.queueops`` beside manage.py), QUEUEOPS_RELEASE, FORCE_SCRIPT_NAME, LOG_LEVEL.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from queueops.project import environ

BASE_DIR = Path(__file__).resolve().parent.parent.parent
STATE_DIR = environ.state_dir(BASE_DIR)

SECRET_KEY = environ.secret_key(STATE_DIR)
DEBUG = environ.flag("DEBUG")
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *environ.words("ALLOWED_HOSTS")]
CSRF_TRUSTED_ORIGINS = environ.words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "queueops",
    "dashboard.apps.DashboardConfig",
    "django_rq",
    "channels",
    "django_htmx",
    "csp",
    "axes",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "queueops.project.static.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "queueops.project.urls"
ASGI_APPLICATION = "queueops.project.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": environ.database(STATE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- queues -----------------------------------------------------------------------------------------------------------
REDIS_URL = environ.redis_url(STATE_DIR)

MAX_AGE = {  # seconds, in order of priority
    "high": 15,
    "default": 60,
    "courier": 60,
    "mail": 120,
    "reports": 300,
    "imports": 60,
    "low": 900,
}
RQ_QUEUES = {name: {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 300} for name in MAX_AGE}
RQ = {
    "QUEUE_CLASS": "queueops.rq.Queue",
    "JOB_CLASS": "queueops.rq.Job",
    "WORKER_CLASS": "queueops.rq.Worker",
}
RQ_SHOW_ADMIN_LINK = False

QUEUEOPS: dict[str, Any] = {
    "RELEASE": os.environ.get("QUEUEOPS_RELEASE") or None,
    "QUEUES": {name: {"max_age": seconds} for name, seconds in MAX_AGE.items()},
}

# --- pages ------------------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ja", _("Japanese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = os.environ.get("TZ") or "UTC"
FORCE_SCRIPT_NAME = os.environ.get("FORCE_SCRIPT_NAME") or None

STATIC_URL = "static/"
STATIC_ROOT = os.environ.get("STATIC_ROOT") or None
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = STATIC_ROOT is None  # no collectstatic step is needed
WHITENOISE_AUTOREFRESH = DEBUG

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard:overview"
LOGOUT_REDIRECT_URL = "login"

# --- security ---------------------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],  # covers the web socket of the same origin
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# whoever guesses the password of one account is locked out of that account, its owner at another address is not
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
HTTPS = environ.flag("HTTPS")  # behind a proxy that ends TLS and sets X-Forwarded-Proto
SESSION_COOKIE_NAME = "queueops_session"
CSRF_COOKIE_NAME = "queueops_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31_536_000
# one tool does not decide for all hosts of its domain (subdomains, preload)
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "queueops": {"level": os.environ.get("LOG_LEVEL", "INFO").upper()},
        "django": {"handlers": ["console"], "level": "WARNING", "propagate": False},
    },
}
