"""by_generated.py FOLDER BASE KEY ARCHIVE SCENARIO: a verification with the client that a generator made of the OpenAPI
document, the package `assay_client` in FOLDER; prints its verdict. Every module of it must import.
"""

import importlib
import pkgutil
import sys
import time
from pathlib import Path

folder, base, key, archive, scenario = sys.argv[1:]
sys.path.insert(0, folder)

import assay_client  # noqa: E402
from assay_client.api.verify import verification, verifications, verify  # noqa: E402
from assay_client.models import JobReport, JobStatus, Record, VerifyForm  # noqa: E402
from assay_client.types import File  # noqa: E402

LIMIT_S = 300
OPEN = (JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.JUDGING)

modules = [m.name for m in pkgutil.walk_packages(assay_client.__path__, "assay_client.")]
for name in modules:
    importlib.import_module(name)
assert len(modules) > 50, modules

client = assay_client.AuthenticatedClient(base_url=base, token=key)
with client, open(archive, "rb") as file:
    policy = File(payload=file, file_name=Path(archive).name, mime_type="application/zip")
    form = VerifyForm(scenario=scenario, policy=policy, num_episodes=1, seed=7, record=Record.NONE)
    made = verify.sync(client=client, body=form)
    assert isinstance(made, JobReport), made
    until = time.monotonic() + LIMIT_S
    while (job := verification.sync(made.job_id, client=client)).status in OPEN:
        assert time.monotonic() < until, job
        time.sleep(0.2)
    assert job.seed == 7 and job.episode_details[0].success, job
    page = verifications.sync(client=client, limit=1)
    assert [one.job_id for one in page.jobs] == [made.job_id] and page.total == 1, page
    refused = verify.sync(client=client, body=VerifyForm(scenario="nothing"))
    assert refused.error.code == "VALIDATION_ERROR" and refused.error.details.field == "scenario", refused
    print(job.verdict.value)
