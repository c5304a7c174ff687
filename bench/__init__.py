"""Measures the budgets side by side with plain RQ, on a private server: ``make bench``, or ``python -m bench``."""
