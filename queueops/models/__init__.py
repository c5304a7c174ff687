"""What people set and what was done: the SQL truth. One file per concept, no behaviour beyond their own fields."""

from queueops.models.batch import Batch
from queueops.models.batch_item import BatchItem
from queueops.models.intervention import PERMISSIONS, Intervention
from queueops.models.isolation import Isolation
from queueops.models.message import SQLMessage
from queueops.models.once import OnceDone
from queueops.models.override import Override
from queueops.models.pause import Pause
from queueops.models.quarantine import QuarantinedJob
from queueops.models.rollup import Rollup
from queueops.models.setting import ACTIVE, Setting, SettingState

__all__ = [
    "ACTIVE",
    "PERMISSIONS",
    "Batch",
    "BatchItem",
    "Intervention",
    "Isolation",
    "OnceDone",
    "Override",
    "Pause",
    "QuarantinedJob",
    "Rollup",
    "SQLMessage",
    "Setting",
    "SettingState",
]
