#!/usr/bin/env python3
"""Django's command line for the queueops project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "queueops.project.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError as error:
        sys.exit(f"queueops: {error}; run `make up` once, then use .venv/bin/python manage.py")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # a wrong setting is the reader's to fix: a line says more than a traceback
        sys.stderr.write(f"queueops: {' '.join(str(error).split())}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
