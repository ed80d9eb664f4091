"""A reason of the starter's and a state of an execution that are added to their lists, no more."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from actonce.stack.embedded_folder import PROJECT
from actonce_pipeline.audit.horizon import horizon_of
from actonce_pipeline.audit.job import message_rows
from actonce_pipeline.audit.reading.events import SCHEMA
from actonce_pipeline.audit.reading.listing import list_records
from actonce_pipeline.audit.reading.row import Row
from actonce_pipeline.audit.reading.streams import Code, codes_of
from actonce_pipeline.audit.request import Request
from actonce_pipeline.audit.times import in_ms
from actonce_pipeline.spark.session import spark_session
from tests.pipeline.judge import judge
from tests.pipeline.nights import audited, judgements_of
from tests.pipeline.streams_on_disk import at, delivery, named, sent
from tests.pipeline.test_verdicts import EXAMPLES, GRACE, NOW, planted
from tests.support import java

pytestmark = java.needed

ADDED = {
    "functions/actonce_core/reason.py": (
        "class Reason(_Explained):\n",
        '    NIGHT = "at_night", "it came at night"\n',
    ),
    "pipeline/actonce_pipeline/audit/reading/streams.py": (
        '    CLOSED_PERFORMED = "executions"\n',
        '    CLOSED_CANCELED = "executions"\n',
    ),
}
_RUN = f"import sys, pathlib, {__name__} as here; here.answer(pathlib.Path(sys.argv[1]))"
AT_NIGHT = [sent("", at(0)), delivery("", at(1), "refused", "at_night", None)]


def answer(root: Path) -> None:
    """Print how many states there are, the judgements below a root, and that of the new state."""
    spark = spark_session("added")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    summary = audited(spark, root, root / "audit", as_of=NOW.isoformat())
    then = in_ms(NOW) - 7_200_000
    said = ("STARTED", "CLOSED_CANCELED", "RUNNING")
    rows = [Row("canceled", then, int(Code[name]), int(name == "STARTED")) for name in said]
    listing = list_records(spark, str(root), str(root / "audit"))
    request = Request(str(root), as_of=NOW)
    of_state = message_rows(
        spark.createDataFrame(rows, SCHEMA), request, listing, horizon_of(request, listing, 0)
    )
    found = judgements_of(root / "audit")
    found |= {row["message_id"]: (row["verdict"], row["judged"]) for row in of_state.collect()}
    spark.stop()
    print(json.dumps([len(codes_of("executions")), found, summary["totals"]["refused"]]))


def test_a_reason_or_a_state_is_judged_right_that_is_added_in_one_place(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in ("functions/actonce_core", "pipeline"):
        shutil.copytree(PROJECT / name, copy / name)
    for name, (line, more) in ADDED.items():
        text = (copy / name).read_text()
        assert text.count(line) == 1
        (copy / name).write_text(text.replace(line, f"{line}{more}"))
    examples = {key: one for key, one in EXAMPLES.items() if key != "unasked as yet"}
    root = planted(tmp_path / "records", examples | {"at night": AT_NIGHT})
    path = os.pathsep.join(map(str, (copy / "pipeline", copy / "functions", PROJECT)))
    run = subprocess.run(
        [sys.executable, "-c", _RUN, str(root)],
        cwd=copy,
        env={name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
        | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    states, found, refused = json.loads(run.stdout)
    expected: dict[str, Any] = {
        key: list(judge(named({key: one}), NOW, GRACE)) for key, one in examples.items()
    }
    assert states == len(codes_of("executions")) + 1 == 9
    assert found == expected | {"at night": ["refused", True], "canceled": ["lost", True]}
    assert refused == {"at_night": 1, "conflict": 1, "not_json": 1}
