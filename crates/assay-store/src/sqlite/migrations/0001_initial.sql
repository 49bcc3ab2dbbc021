-- Times are microseconds since 1970 UTC. Ids of jobs are UUIDv7 as text, so their order is the order of acceptance.

CREATE TABLE keys (
    id           TEXT NOT NULL PRIMARY KEY,
    account      TEXT NOT NULL,
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    secret_hash  BLOB NOT NULL CHECK (length(secret_hash) = 32),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    job_id            TEXT NOT NULL PRIMARY KEY,
    account           TEXT NOT NULL,
    scenario          TEXT NOT NULL,
    status            TEXT NOT NULL
                      CHECK (status IN ('QUEUED', 'RUNNING', 'JUDGING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    header            TEXT NOT NULL,               -- JSON: JobHeader, never changed
    policy_path       TEXT,                        -- relative to the data folder
    num_episodes      INTEGER NOT NULL CHECK (num_episodes > 0),
    episodes_done     INTEGER NOT NULL DEFAULT 0 CHECK (episodes_done <= num_episodes),
    created_at        INTEGER NOT NULL,
    started_at        INTEGER,
    completed_at      INTEGER,
    verdict           TEXT,                        -- copy of the conclusion's, for filters
    conclusion        TEXT,                        -- JSON: Conclusion
    fingerprint       TEXT,                        -- JSON: Fingerprint
    failure           TEXT,                        -- JSON: Failure
    judge_attempt     INTEGER NOT NULL DEFAULT 0,
    judge_worker      TEXT,                        -- set while a worker concludes
    judge_lease_until INTEGER,
    judge_failures    INTEGER NOT NULL DEFAULT 0,
    judge_lapses      INTEGER NOT NULL DEFAULT 0,
    CHECK ((status = 'COMPLETED') = (conclusion IS NOT NULL AND fingerprint IS NOT NULL)),
    CHECK ((status = 'FAILED') = (failure IS NOT NULL)),
    CHECK ((status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_by_account ON jobs (account, job_id);
CREATE INDEX jobs_by_status ON jobs (status, job_id);

CREATE TABLE shards (
    job_id        TEXT NOT NULL REFERENCES jobs (job_id),
    shard         INTEGER NOT NULL,
    account       TEXT NOT NULL,
    first_episode INTEGER NOT NULL,
    end_episode   INTEGER NOT NULL CHECK (end_episode > first_episode),     -- one past the last
    state         TEXT NOT NULL CHECK (state IN ('QUEUED', 'LEASED', 'DONE', 'ABANDONED')),
    attempt       INTEGER NOT NULL DEFAULT 0,      -- the fence: counts claims
    failures      INTEGER NOT NULL DEFAULT 0,      -- since the last new episode
    lapses        INTEGER NOT NULL DEFAULT 0,      -- since the last new episode
    last_failure  TEXT,
    worker        TEXT,
    lease_until   INTEGER,
    PRIMARY KEY (job_id, shard),
    CHECK ((state = 'LEASED') = (worker IS NOT NULL AND lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX shards_queued ON shards (account, job_id, shard) WHERE state = 'QUEUED';
CREATE INDEX shards_leased ON shards (account, lease_until) WHERE state = 'LEASED';

CREATE TABLE episodes (
    job_id      TEXT NOT NULL REFERENCES jobs (job_id),
    episode     INTEGER NOT NULL,
    shard       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    status      TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    result      TEXT NOT NULL,                     -- JSON: EpisodeResult
    PRIMARY KEY (job_id, episode)
) STRICT;
