"""Reads that explain: what holds a control, why a job does not run. Nothing here writes."""
