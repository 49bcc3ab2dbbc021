"""The client of a service: a method for each operation of its API, and waiting, following and downloading.

It is longer than other files because each operation of the API has its method here, where readers look for it.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import quote, urljoin

from . import models as wire
from ._http import API, RETRIES, TIMEOUT_S, Http, form, json_body, save, text
from ._progress import Progress
from ._stream import follow
from ._waiting import until_ended
from .errors import AssayError, WaitTimeout

#: A zip archive: its path, or its bytes.
Archive = str | os.PathLike[str] | bytes
#: Where `assay serve` listens unless it is told otherwise.
DEFAULT_URL = "http://127.0.0.1:8080"
#: Pieces of a model's upload, in bytes; the service accepts no smaller ones but the last.
PIECE_BYTES = 16 << 20
#: Pause between two looks at a job whose videos are being rendered, in seconds.
POLL_S = 2.0
#: Episodes read at a time.
PAGE = 100


class Client:
    """A client of the service at `url`, with an API key.

    All methods raise `ConnectionFailed` if the service cannot be reached, a subclass of `ApiError` if it refuses a request,
    and `IncompatibleServer` if something else answers. Requests are repeated after broken connections, 429 and 503; each POST
    carries an idempotency key, so that a repetition has no second effect. Methods may be called from several threads.

    >>> client = Client("http://127.0.0.1:8080", key="assay_...")
    >>> client.url
    'http://127.0.0.1:8080'
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, *, timeout_s: float = TIMEOUT_S, retries: int = RETRIES,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        """Creates a client; nothing is sent yet.

        `url` and `key` are read from the environment variables ASSAY_URL and ASSAY_KEY if absent, as the command line does; the
        default address is that of a service on this machine. `timeout_s` is the time without any byte after which a
        request is given up; unless it is given, preflights, publications and replays wait up to half an hour.
        """
        url = url or os.environ.get("ASSAY_URL") or DEFAULT_URL
        self._http = Http(url, key or os.environ.get("ASSAY_KEY"), timeout_s, retries, ssl_context)
        self.url = self._http.url

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._http.close()

    # Verifications.

    def submit(
        self, policy: Archive | None = None, *, scenario: str, policy_url: str | None = None,
        num_episodes: int | None = None, seed: int | None = None, record: str | None = None,
        max_violation_probability: float | None = None, confidence_level: float | None = None,
        policy_name: str | None = None, policy_key: str | None = None, policy_api_key: str | None = None,
        policy_concurrency: int | None = None, replan_steps: int | None = None, callback_url: str | None = None, connect: bool | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> wire.JobReport:  # fmt: skip
        """Submits a policy, an archive or the address of a policy server, and returns the queued job. API: verify.

        With `connect`, the policy connects to the service: see `assay.connect`, which does everything. Only workers that
        have all `labels` run the job.
        """
        fields = {
            "scenario": scenario, "policy_url": policy_url, "num_episodes": num_episodes, "seed": seed, "record": record,
            "max_violation_probability": max_violation_probability, "confidence_level": confidence_level,
            "policy_name": policy_name, "policy_key": policy_key, "policy_api_key": policy_api_key,
            "policy_concurrency": policy_concurrency, "replan_steps": replan_steps, "callback_url": callback_url,
            "connect": "true" if connect else None,
            "labels": ",".join(f"{name}={value}" for name, value in labels.items()) if labels else None,
        }  # fmt: skip
        return wire.JobReport.from_json(self._post_form("/verify", fields, policy=policy))

    def preflight(
        self, policy: Archive | None = None, *, scenario: str, policy_url: str | None = None,
        policy_api_key: str | None = None,
    ) -> wire.Preflight:  # fmt: skip
        """Tries a policy for a moment and returns what is wrong with it; nothing is queued. API: preflight."""
        fields = {"scenario": scenario, "policy_url": policy_url, "policy_api_key": policy_api_key}
        return wire.Preflight.from_json(self._post_form("/preflight", fields, works=True, policy=policy))

    def job(self, job_id: str) -> wire.JobReport:
        """Returns a job with up to 100 of its episodes. API: verification."""
        return wire.JobReport.from_json(self._get(f"/verify/{part(job_id)}"))

    def jobs(
        self, *, scenario: str | None = None, status: str | None = None, verdict: str | None = None,
        limit: int | None = None, offset: int | None = None, before: str | None = None,
    ) -> wire.JobPage:  # fmt: skip
        """Lists jobs, the newest first. API: verifications."""
        query = {"scenario": scenario, "status": status, "verdict": verdict, "limit": limit, "offset": offset}
        return wire.JobPage.from_json(self._get("/verify", **query, before=before))

    def episodes(self, job_id: str, *, limit: int | None = None, offset: int | None = None) -> wire.EpisodePage:
        """Returns episodes of a job. API: episodes."""
        return wire.EpisodePage.from_json(self._get(f"/verify/{part(job_id)}/episodes", limit=limit, offset=offset))

    def report(self, job_id: str) -> wire.JobReport:
        """Returns the signed report of a job that has ended, with all episodes. API: verification_report."""
        return wire.JobReport.from_json(self._get(f"/verify/{part(job_id)}/report.json"))

    def report_page(self, job_id: str) -> str:
        """Returns the report as an HTML page. API: verification_report_page."""
        return self._text(f"/verify/{part(job_id)}/report", "text/html")

    def attestation(self, job_id: str) -> wire.Envelope:
        """Returns the signed statement of a job. API: verification_attestation."""
        return wire.Envelope.from_json(self._get(f"/verify/{part(job_id)}/attestation"))

    def archive(self, job_id: str, path: str | os.PathLike[str], *, evidence: bool = True) -> None:
        """Downloads everything about a job as one zip file, without `evidence` all but the episodes. API: verification_archive.

        Raises:
            DownloadError: the file is incomplete; `path` is not written.
        """
        self._save(f"/verify/{part(job_id)}/archive", path, evidence=None if evidence else "false")

    def cancel(self, job_id: str) -> wire.JobReport:
        """Cancels a job. API: cancel_verification."""
        return wire.JobReport.from_json(self._post(f"/verify/{part(job_id)}/cancel"))

    def create_connection(self, job_id: str) -> wire.NewConnection:
        """Returns address and token for one connection of a job's policy. API: create_connection.

        `assay.connect` opens the connection and speaks the frame protocol.
        """
        return wire.NewConnection.from_json(self._post(f"/verify/{part(job_id)}/connection"))

    def replay(self, job_id: str, *, episode: int = 0) -> wire.ReplayReport:
        """Runs an episode again and compares it bit for bit. API: replay_verification."""
        return wire.ReplayReport.from_json(self._post(f"/verify/{part(job_id)}/replay", {"episode": episode}, works=True))

    def review(self, job_id: str, *, decision: str, reason: str) -> wire.JobReport:
        """Adds a reviewer's decision, which changes nothing measured. API: review_verification."""
        body = {"decision": decision, "reason": reason}
        return wire.JobReport.from_json(self._post(f"/verify/{part(job_id)}/review", body))

    def awaited_reviews(self, *, limit: int | None = None, before: str | None = None) -> wire.ReviewPage:
        """Lists the verifications of all accounts that await a review. API: awaited_reviews."""
        return wire.ReviewPage.from_json(self._get("/reviews", limit=limit, before=before))

    def erase(self, job_id: str) -> None:
        """Erases policy and evidence of a job; its record remains. API: erase_verification."""
        self._delete(f"/verify/{part(job_id)}")

    def events(self, job_id: str, *, last_event_id: str | None = None) -> Iterator[wire.JobUpdate]:
        """Yields the states of a job until it has ended, over lost connections and restarts. API: verification_events."""
        return self._follow(f"/verify/{part(job_id)}/events", last_event_id)

    def wait(
        self, job_id: str, *, timeout_s: float | None = None, progress: bool | None = None, videos: bool = False,
        on_update: Callable[[wire.JobUpdate], None] | None = None,
    ) -> wire.JobReport:  # fmt: skip
        """Waits until a job has ended and returns it.

        Shows a progress bar on standard error if that is a terminal, or as `progress` says; calls `on_update` with each event.
        With `videos`, also waits until the videos are rendered.

        Raises:
            WaitTimeout: the job had not ended after `timeout_s` seconds. It continues.
        """
        path, get = f"/verify/{part(job_id)}/events", self.job
        job: wire.JobReport = until_ended(self._follow, path, lambda: get(job_id), timeout_s, progress, on_update)
        started = time.monotonic()
        while videos and job.progress is not None and job.progress.stage == "rendering":
            if timeout_s is not None and time.monotonic() - started > timeout_s:
                raise WaitTimeout(f"the videos of {job_id} are still being rendered after {timeout_s:g} s")
            time.sleep(POLL_S)
            job = self.job(job_id)
        return job

    def verify(
        self, policy: Archive | None = None, *, scenario: str, timeout_s: float | None = None,
        progress: bool | None = None, **options: Any,
    ) -> wire.JobReport:  # fmt: skip
        """Submits a policy and waits for its verdict; `options` are those of `submit`."""
        job = self.submit(policy, scenario=scenario, **options)
        return self.wait(job.job_id, timeout_s=timeout_s, progress=progress)

    # Files.

    def download(self, url: str, path: str | os.PathLike[str], *, sha256: str | None = None) -> None:
        """Downloads an artifact, thumbnail or report to `path`, and checks its hash. API: artifact. API: thumbnail.

        Raises:
            DownloadError: the file is incomplete, or has another hash; `path` is not written.
        """
        whole = urljoin(f"{self.url}/", url)
        if not whole.startswith(f"{self.url}/"):
            raise AssayError(f"{whole} is not an address of {self.url}, so its key is not sent there")
        response = self._http.send("GET", whole[len(self.url) :], headers={"Accept": "*/*"}, own=True, prefix="")
        save(response, path, sha256)

    def download_evidence(self, job_id: str, folder: str | os.PathLike[str]) -> list[str]:
        """Downloads the report, the statement and all evidence of a job that has ended; returns the files' names.

        `assay attest verify FOLDER` checks the result without the service.
        """
        os.makedirs(folder, exist_ok=True)
        prefix = f"{API}/verify/{part(job_id)}"
        self.download(f"{self.url}{prefix}/report.json", os.path.join(folder, "report.json"))
        self.download(f"{self.url}{prefix}/attestation", os.path.join(folder, "report.intoto.json"))
        names = ["report.json", "report.intoto.json"]
        for artifact in self._evidence(job_id):
            if artifact.url is None:
                continue
            path = os.path.normpath(os.path.join(folder, artifact.name))
            if os.path.relpath(path, folder).startswith(".."):
                raise AssayError(f"the service names a file outside of the folder: {artifact.name!r}")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.download(artifact.url, path, sha256=artifact.sha256)
            names.append(artifact.name)
        return names

    def _evidence(self, job_id: str) -> Iterator[wire.Artifact]:
        offset, total = 0, 1
        while offset < total:
            page = self.episodes(job_id, limit=PAGE, offset=offset)
            total, offset = page.total, offset + PAGE
            for episode in page.episodes:
                yield from episode.evidence or []

    # Models.

    def upload_model(self, path: str | os.PathLike[str], *, name: str | None = None, progress: bool | None = None) -> wire.Model:
        """Uploads a model, or the rest of one whose upload was interrupted. API: announce_model. API: append_to_model."""
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            announced = {"sha256": sha256, "size_bytes": size, "name": name or os.path.basename(os.fspath(path))}
            model = wire.Model.from_json(self._post("/models", announced))
            with Progress(progress) as bar:
                while model.offset < size:
                    bar.show(model.offset / size, f"{model.offset >> 20} of {size >> 20} MiB")
                    file.seek(model.offset)
                    model = self._append(model, file.read(PIECE_BYTES))
        return model

    def _append(self, model: wire.Model, piece: bytes) -> wire.Model:
        path = f"/models/{part(str(model.upload_id))}"
        content = {"body": lambda: [piece], "length": len(piece), "content": "application/octet-stream"}
        headers = {"Upload-Offset": str(model.offset)}
        return wire.Model.from_json(self._http.json("PATCH", path, headers=headers, **content))

    def models(self, *, limit: int | None = None, offset: int | None = None) -> wire.ModelPage:
        """Lists models and uploads. API: models."""
        return wire.ModelPage.from_json(self._get("/models", limit=limit, offset=offset))

    def model(self, id: str) -> wire.Model:
        """Returns a model by its SHA-256, or an upload by its id. API: model."""
        return wire.Model.from_json(self._get(f"/models/{part(id)}"))

    def delete_model(self, id: str) -> None:
        """Deletes a model, or ends an upload. API: delete_model."""
        self._delete(f"/models/{part(id)}")

    # Scenarios.

    def scenarios(self) -> wire.ScenarioList:
        """Lists the curated scenarios. API: scenarios."""
        return wire.ScenarioList.from_json(self._get("/scenarios"))

    def scenario(self, id: str, *, version: str | None = None) -> wire.ScenarioDetail:
        """Returns a scenario. API: scenario."""
        return wire.ScenarioDetail.from_json(self._get(f"/scenarios/{part(id)}", version=version))

    def scenario_spec(self, id: str, *, version: str | None = None) -> wire.ScenarioSpec:
        """Returns a scenario's observations, actions, rates, limits and clauses. API: scenario_spec."""
        return wire.ScenarioSpec.from_json(self._get(f"/scenarios/{part(id)}/spec", version=version))

    def collections(self) -> wire.CollectionList:
        """Lists the collections of scenarios. API: collections."""
        return wire.CollectionList.from_json(self._get("/collections"))

    def collection(self, id: str) -> wire.Collection:
        """Returns a collection. API: collection."""
        return wire.Collection.from_json(self._get(f"/collections/{part(id)}"))

    def runtimes(self) -> wire.RuntimeList:
        """Lists the runtimes that policies can run in. API: runtimes."""
        return wire.RuntimeList.from_json(self._get("/runtimes"))

    def community_scenarios(
        self, *, q: str | None = None, tag: str | None = None, author: str | None = None, sort: str | None = None,
        limit: int | None = None, offset: int | None = None, before: str | None = None,
    ) -> wire.CommunityPage:  # fmt: skip
        """Lists published scenarios. API: community_scenarios."""
        query = {"q": q, "tag": tag, "author": author, "sort": sort, "limit": limit, "offset": offset}
        return wire.CommunityPage.from_json(self._get("/community/scenarios", **query, before=before))

    def community_scenario(self, id: str, *, version: str | None = None) -> wire.CommunityScenarioDetail:
        """Returns a published scenario. API: community_scenario."""
        return wire.CommunityScenarioDetail.from_json(self._get(f"/community/scenarios/{part(id)}", version=version))

    def publish_scenario(self, scenario: Archive, *, tags: Sequence[str] = ()) -> wire.CommunityScenarioDetail:
        """Publishes a version of a scenario. API: publish_scenario."""
        fields = {"tags": ",".join(tags) or None}
        made = self._post_form("/community/scenarios", fields, works=True, scenario=scenario)
        return wire.CommunityScenarioDetail.from_json(made)

    def delete_community_scenario(self, id: str) -> None:
        """Deletes a published scenario. API: delete_community_scenario."""
        self._delete(f"/community/scenarios/{part(id)}")

    # The arena.

    def seasons(self, *, scenario: str | None = None) -> wire.SeasonList:
        """Lists seasons. API: seasons."""
        return wire.SeasonList.from_json(self._get("/seasons", scenario=scenario))

    def open_season(self, scenario: str) -> wire.Season:
        """Opens the next season of a scenario. API: open_season."""
        return wire.Season.from_json(self._post("/seasons", {"scenario": scenario}))

    def close_season(self, scenario: str, *, top: int = 10) -> wire.Season:
        """Closes the open season of a scenario; its first `top` entries run again. API: close_season."""
        return wire.Season.from_json(self._post("/seasons/close", {"scenario": scenario, "top": top}))

    def submit_to_arena(
        self, policy: Archive, *, scenario_id: str, name: str | None = None, description: str | None = None,
        callback_url: str | None = None,
    ) -> wire.NewSubmission:  # fmt: skip
        """Submits a policy to the open season of a scenario. API: submit."""
        fields = {"scenario_id": scenario_id, "name": name, "description": description, "callback_url": callback_url}
        return wire.NewSubmission.from_json(self._post_form("/submissions", fields, policy=policy))

    def submission(self, id: str) -> wire.Submission:
        """Returns a submission. API: submission."""
        return wire.Submission.from_json(self._get(f"/submissions/{part(id)}"))

    def submissions(
        self, *, scenario: str | None = None, status: str | None = None, verdict: str | None = None,
        limit: int | None = None, offset: int | None = None, before: str | None = None,
    ) -> wire.SubmissionPage:  # fmt: skip
        """Lists submissions, the newest first. API: submissions."""
        query = {"scenario": scenario, "status": status, "verdict": verdict, "limit": limit, "offset": offset}
        return wire.SubmissionPage.from_json(self._get("/submissions", **query, before=before))

    def leaderboard(
        self, *, scenario: str | None = None, collection: str | None = None, season: str | None = None,
        limit: int | None = None, offset: int | None = None,
    ) -> wire.Leaderboard:  # fmt: skip
        """Returns a board. API: leaderboard."""
        query = {"scenario": scenario, "collection": collection, "season": season, "limit": limit, "offset": offset}
        return wire.Leaderboard.from_json(self._get("/leaderboard", **query))

    def choose_submission(self, id: str) -> wire.Submission:
        """Chooses the submission that counts. API: choose_submission."""
        return wire.Submission.from_json(self._post(f"/submissions/{part(id)}/choose"))

    def cancel_submission(self, id: str) -> wire.Submission:
        """Cancels a submission. API: cancel_submission."""
        return wire.Submission.from_json(self._post(f"/submissions/{part(id)}/cancel"))

    def erase_submission(self, id: str) -> None:
        """Erases policy and evidence of a submission; its record remains. API: erase_submission."""
        self._delete(f"/submissions/{part(id)}")

    def submission_episodes(
        self, id: str, *, run: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> wire.EpisodePage:
        """Returns the episodes of a submission, once its season is closed. API: submission_episodes."""
        path = f"/submissions/{part(id)}/episodes"
        return wire.EpisodePage.from_json(self._get(path, run=run, limit=limit, offset=offset))

    def submission_report(self, id: str, *, run: str | None = None) -> wire.JobReport:
        """Returns the report of a submission, once its season is closed. API: submission_report."""
        return wire.JobReport.from_json(self._get(f"/submissions/{part(id)}/report.json", run=run))

    def submission_report_page(self, id: str, *, run: str | None = None) -> str:
        """Returns that report as an HTML page. API: submission_report_page."""
        return self._text(f"/submissions/{part(id)}/report", "text/html", run=run)

    def submission_attestation(self, id: str, *, run: str | None = None) -> wire.Envelope | wire.Commitment:
        """Returns the signed statement of a submission, or in an open season a commitment to it. API: submission_attestation."""
        data = self._get(f"/submissions/{part(id)}/attestation", run=run)
        return wire.Envelope.from_json(data) if "payload" in data else wire.Commitment.from_json(data)

    def submission_archive(
        self, id: str, path: str | os.PathLike[str], *, run: str | None = None, evidence: bool = True
    ) -> None:
        """Downloads everything about a submission, once its season is closed, as `archive` does. API: submission_archive."""
        self._save(f"/submissions/{part(id)}/archive", path, run=run, evidence=None if evidence else "false")

    def replay_submission(self, id: str, *, episode: int = 0, run: str | None = None) -> wire.ReplayReport:
        """Runs an episode of a submission again. API: replay_submission."""
        path = f"/submissions/{part(id)}/replay"
        return wire.ReplayReport.from_json(self._post(path, {"episode": episode}, works=True, run=run))

    def submission_events(self, id: str, *, last_event_id: str | None = None) -> Iterator[wire.JobUpdate]:
        """Yields the published states of a submission until it has ended. API: submission_events."""
        return self._follow(f"/submissions/{part(id)}/events", last_event_id)

    def wait_for_submission(
        self, id: str, *, timeout_s: float | None = None, progress: bool | None = None
    ) -> wire.Submission:
        """Waits until a submission has ended and returns it; the arguments are those of `wait`."""
        path = f"/submissions/{part(id)}/events"
        ended: wire.Submission = until_ended(self._follow, path, lambda: self.submission(id), timeout_s, progress)
        return ended

    # Keys, sessions, webhooks, the service itself.

    def keys(self) -> wire.KeyList:
        """Lists API keys. API: keys."""
        return wire.KeyList.from_json(self._get("/keys"))

    def create_key(
        self, name: str, scopes: Sequence[str], *, account: str | None = None, expires_at: str | None = None
    ) -> wire.CreatedKey:
        """Creates an API key, whose secret is shown only here. API: create_key."""
        given = {"name": name, "scopes": list(scopes), "account": account, "expires_at": expires_at}
        body = {field: value for field, value in given.items() if value is not None}
        return wire.CreatedKey.from_json(self._post("/keys", body))

    def rotate_key(self) -> wire.CreatedKey:
        """Replaces the key of this client with a new one, which it uses from then on. API: rotate_key."""
        created = wire.CreatedKey.from_json(self._post("/keys/rotate"))
        self._http.use(str(created.key))
        return created

    def revoke_key(self, id: str) -> None:
        """Revokes an API key at once. API: revoke_key."""
        self._delete(f"/keys/{part(id)}")

    def accounts(self, *, limit: int | None = None, offset: int | None = None) -> wire.AccountPage:
        """Lists the accounts with what they use, and their caps. API: accounts."""
        return wire.AccountPage.from_json(self._get("/accounts", limit=limit, offset=offset))

    def accesses(
        self,
        *,
        account: str | None = None,
        owner: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> wire.AccessPage:
        """Lists accesses of administrators and reviewers to other accounts, newest first. API: accesses."""
        found = self._get("/accesses", account=account, owner=owner, limit=limit, offset=offset)
        return wire.AccessPage.from_json(found)

    def servers(self) -> wire.ServerList:
        """Lists the servers with their lanes and the running episodes. API: servers."""
        return wire.ServerList.from_json(self._get("/servers"))

    def storage(self) -> wire.StorageReport:
        """Returns stored evidence, free space, retention and what is removed next. API: storage."""
        return wire.StorageReport.from_json(self._get("/storage"))

    def workers(self) -> wire.WorkerList:
        """Lists the workers on other hosts. API: list_workers."""
        return wire.WorkerList.from_json(self._get("/workers"))

    def create_worker(self, name: str, *, trusted: bool = False, expires_at: str | None = None) -> wire.CreatedWorker:
        """Creates a worker on another host, whose token is shown only here. API: create_worker."""
        end = {} if expires_at is None else {"expires_at": expires_at}
        return wire.CreatedWorker.from_json(self._post("/workers", {"name": name, "trusted": trusted, **end}))

    def drain_worker(self, name: str, *, drain: bool = True) -> wire.WorkerView:
        """Lets a worker finish what it runs and end, or claim again. API: drain_worker."""
        return wire.WorkerView.from_json(self._post(f"/workers/{part(name)}/drain", {"drain": drain}))

    def revoke_worker(self, name: str) -> None:
        """Revokes a worker at once. API: revoke_worker."""
        self._delete(f"/workers/{part(name)}")

    def sign_in(self) -> wire.Session:
        """Creates a browser session with the key of this client, which itself uses no session. API: sign_in."""
        return wire.Session.from_json(self._http.json("POST", "/session", **json_body({"key": self._http.key()})))

    def session(self) -> wire.Session:
        """Returns the session of this client; only browsers have one, so the service refuses. API: session."""
        return wire.Session.from_json(self._get("/session"))

    def sign_out(self, csrf_token: str) -> None:
        """Ends a session. API: sign_out."""
        self._http.json("DELETE", "/session", headers={"X-CSRF-Token": csrf_token})

    def webhook_deliveries(
        self, *, job_id: str | None = None, state: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> wire.WebhookDeliveryPage:
        """Lists deliveries of webhooks. API: webhook_deliveries."""
        query = {"job_id": job_id, "state": state, "limit": limit, "offset": offset}
        return wire.WebhookDeliveryPage.from_json(self._get("/webhooks/deliveries", **query))

    def rotate_webhook_secret(self) -> wire.WebhookSecret:
        """Creates the account's secret for webhooks, shown only here. API: rotate_webhook_secret."""
        return wire.WebhookSecret.from_json(self._post("/webhooks/secret"))

    def index(self) -> wire.Index:
        """Returns the service's name and version. API: index."""
        return wire.Index.from_json(self._http.json("GET", "/", prefix=""))

    def signing_keys(self) -> wire.PublishedKeys:
        """Returns the public keys that sign statements. API: signing_keys."""
        return wire.PublishedKeys.from_json(self._get("/.well-known/assay-keys.json"))

    def health(self) -> wire.Health:
        """Returns whether the service runs. API: health."""
        return wire.Health.from_json(self._get("/healthz"))

    def ready(self) -> wire.Ready:
        """Returns whether the service accepts jobs, and why not. API: ready."""
        return wire.Ready.from_json(self._get("/readyz"))

    def metrics(self) -> str:
        """Returns the metrics in Prometheus' format. API: metrics."""
        return self._text("/metrics", "text/plain")

    # Requests.

    def _get(self, path: str, **query: Any) -> Any:
        return self._http.json("GET", path, query=query)

    def _post(self, path: str, body: Any = None, works: bool = False, **query: Any) -> Any:
        content = json_body(body) if body is not None else {}
        return self._http.json("POST", path, query=query, works=works, **content)

    def _post_form(self, path: str, fields: dict[str, Any], works: bool = False, **files: Archive | None) -> Any:
        given = {name: file for name, file in files.items() if file is not None}
        return self._http.json("POST", path, works=works, **form(fields, given))

    def _delete(self, path: str) -> None:
        self._http.json("DELETE", path)

    def _text(self, path: str, accept: str, **query: Any) -> str:
        return self._http.send("GET", path, query=query, headers={"Accept": accept}).read().decode("utf-8", "replace")

    def _save(self, path: str, file: str | os.PathLike[str], **query: Any) -> None:
        save(self._http.send("GET", path, query=query, headers={"Accept": "*/*"}), file, None)

    def _follow(
        self, path: str, last: str | None, is_stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[wire.JobUpdate]:
        for id_, data in follow(self._http, path, last, is_stopped):
            yield wire.JobUpdate.from_json(data | {"id": id_})


def part(value: str) -> str:
    """Returns a value as a part of a path."""
    return quote(text(value), safe="")
