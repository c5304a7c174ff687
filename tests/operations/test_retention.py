from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from queueops.models import Batch, BatchItem, Intervention, Pause, QuarantinedJob
from queueops.operations import Selection, pause, quarantine, replay, resume, selection
from queueops.operations.recover import recover
from tests.scripts.kit import Doors


def test_what_is_over_goes_after_its_time_and_what_is_in_force_stays(doors: Doors, who: dict[str, str]) -> None:
    pause("queue", "low", **who)
    pause("queue", "default", **who)
    resume("queue", "default", **who)
    quarantine([doors.enqueue(), doors.enqueue()], **who)
    selection.refresh()
    replay(QuarantinedJob.objects.first().job_id, **who)
    kept = replay(Selection(everything=True), background=True, **who)
    early = timezone.now() - timedelta(days=31)
    Intervention.objects.exclude(pk=kept.intervention.pk).update(at=early)
    Pause.objects.update(created=early)
    Pause.objects.filter(state="lifted").update(lifted_at=early)
    Batch.objects.filter(state="done").update(finished=early)
    QuarantinedJob.objects.update(quarantined_at=early, changed=early)
    for _ in range(2):
        recover(batch_seconds=0)
    assert set(Intervention.objects.values_list("verb", "state")) == {("pause", "in_force"), ("replay", "applying")}
    assert Pause.objects.get().name == "low"
    assert QuarantinedJob.objects.get().state == "quarantined"
    assert BatchItem.objects.count() == 1
    assert Batch.objects.get() == kept.batch
