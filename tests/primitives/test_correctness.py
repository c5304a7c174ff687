"""Eight processes fight for three slots; holders are counted outside Redis. Not one admission beyond the limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import ROOT

PROCESSES, LIMIT, ROUNDS = 8, 3, 100


def test_scenario_8_no_admission_beyond_the_limit(
    redis: Any, redis_server: Any, child_env: Any, tmp_path: Path
) -> None:
    shared = tmp_path / "inside"
    shared.write_bytes(bytes(PROCESSES))
    children = [
        subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("contend.py")),
                redis_server.url,
                str(shared),
                str(slot),
                str(LIMIT),
                str(ROUNDS),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**child_env, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )
        for slot in range(PROCESSES)
    ]
    results = [json.loads(child.communicate(timeout=120)[0]) for child in children]
    total = {name: sum(result[name] for result in results) for name in results[0]}
    assert total["over"] == 0, total
    assert total["admitted"] > 100, total
    assert min(result["admitted"] for result in results) > 0, results
