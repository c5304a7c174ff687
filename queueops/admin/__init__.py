"""Django's admin over what people set and did: read-mostly; every change goes through ``queueops.operations``."""

from queueops.admin.interventions import BatchAdmin, InterventionAdmin
from queueops.admin.quarantine import QuarantinedJobAdmin
from queueops.admin.settings import IsolationAdmin, OverrideAdmin, PauseAdmin

__all__ = [
    "BatchAdmin",
    "InterventionAdmin",
    "IsolationAdmin",
    "OverrideAdmin",
    "PauseAdmin",
    "QuarantinedJobAdmin",
]
