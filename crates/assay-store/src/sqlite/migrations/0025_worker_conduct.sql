-- What limits workers on other hosts, for all servers and over restarts. Everything about a job goes when it ends.

CREATE TABLE worker_conduct (
    worker         TEXT NOT NULL,                  -- the holder of its leases: host/NAME
    job_id         TEXT NOT NULL,
    evidence_bytes INTEGER NOT NULL DEFAULT 0,     -- reserved for the evidence that it sends
    claims         INTEGER NOT NULL DEFAULT 0,     -- since its last result; a failure counts as several
    claimed_at     INTEGER NOT NULL DEFAULT 0,     -- time of the last one
    PRIMARY KEY (worker, job_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX worker_conduct_of_jobs ON worker_conduct (job_id);

-- Shards of which a worker reported a failure that others are to confirm.
CREATE TABLE left_shards (
    job_id     TEXT NOT NULL,
    shard      INTEGER NOT NULL,
    worker     TEXT NOT NULL,                      -- the holder of its leases: host/NAME
    left_until INTEGER NOT NULL,
    PRIMARY KEY (job_id, shard, worker)
) STRICT, WITHOUT ROWID;

CREATE INDEX left_shards_of_workers ON left_shards (worker);

CREATE TABLE failed_audits (
    job_id  TEXT NOT NULL,
    episode INTEGER NOT NULL,
    attempt INTEGER NOT NULL,                      -- claim of its shard
    tries   INTEGER NOT NULL,
    PRIMARY KEY (job_id, episode)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER conduct_of_results AFTER INSERT ON episodes WHEN NEW.worker IS NOT NULL BEGIN
    UPDATE worker_conduct SET claims = 0 WHERE worker = NEW.worker AND job_id = NEW.job_id AND claims > 0;
END;

CREATE TRIGGER conduct_of_ended_jobs AFTER UPDATE OF status ON jobs
WHEN OLD.status IN ('QUEUED', 'RUNNING') AND NEW.status NOT IN ('QUEUED', 'RUNNING') BEGIN
    DELETE FROM worker_conduct WHERE job_id = NEW.job_id;
    DELETE FROM left_shards WHERE job_id = NEW.job_id;
    DELETE FROM failed_audits WHERE job_id = NEW.job_id;
END;
