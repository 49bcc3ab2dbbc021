-- What limits workers on other hosts, for all servers and over restarts. Everything about a job goes when it ends.

CREATE TABLE worker_conduct (
    worker         text COLLATE "C" NOT NULL,      -- the holder of its leases: host/NAME
    job_id         uuid NOT NULL,
    evidence_bytes bigint NOT NULL DEFAULT 0,      -- reserved for the evidence that it sends
    claims         bigint NOT NULL DEFAULT 0,      -- since its last result; a failure counts as several
    claimed_at     bigint NOT NULL DEFAULT 0,      -- time of the last one
    PRIMARY KEY (worker, job_id)
) WITH (fillfactor = 50);

CREATE INDEX worker_conduct_of_jobs ON worker_conduct (job_id);

-- Shards of which a worker reported a failure that others are to confirm.
CREATE TABLE left_shards (
    job_id     uuid NOT NULL,
    shard      bigint NOT NULL,
    worker     text COLLATE "C" NOT NULL,          -- the holder of its leases: host/NAME
    left_until bigint NOT NULL,
    PRIMARY KEY (job_id, shard, worker)
);

CREATE INDEX left_shards_of_workers ON left_shards (worker);

CREATE TABLE failed_audits (
    job_id  uuid NOT NULL,
    episode bigint NOT NULL,
    attempt bigint NOT NULL,                       -- claim of its shard
    tries   bigint NOT NULL,
    PRIMARY KEY (job_id, episode)
);

CREATE FUNCTION count_workers_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE worker_conduct SET claims = 0 WHERE worker = NEW.worker AND job_id = NEW.job_id AND claims > 0;
    RETURN NULL;
END;
$$;

CREATE TRIGGER conduct_of_results AFTER INSERT ON episodes FOR EACH ROW
WHEN (NEW.worker IS NOT NULL)
EXECUTE FUNCTION count_workers_result();

CREATE FUNCTION forget_conduct() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM worker_conduct WHERE job_id = NEW.job_id;
    DELETE FROM left_shards WHERE job_id = NEW.job_id;
    DELETE FROM failed_audits WHERE job_id = NEW.job_id;
    RETURN NULL;
END;
$$;

CREATE TRIGGER conduct_of_ended_jobs AFTER UPDATE OF status ON jobs FOR EACH ROW
WHEN (OLD.status IN ('QUEUED', 'RUNNING') AND NEW.status NOT IN ('QUEUED', 'RUNNING'))
EXECUTE FUNCTION forget_conduct();
