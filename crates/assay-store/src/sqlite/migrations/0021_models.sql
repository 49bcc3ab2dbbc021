-- Models: files that an account uploads in pieces, once, for the policies that name them by their digest.
CREATE TABLE models (
    account        TEXT NOT NULL,
    sha256         TEXT NOT NULL,
    size_bytes     INTEGER NOT NULL,               -- counts from the announcement on
    name           TEXT,
    upload_id      TEXT NOT NULL UNIQUE,
    received_bytes INTEGER NOT NULL DEFAULT 0,     -- durable on the disk
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER,                        -- of an unfinished upload
    completed_at   INTEGER,
    PRIMARY KEY (account, sha256),
    CHECK ((expires_at IS NULL) <> (completed_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX models_unfinished ON models (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX models_by_age ON models (completed_at) WHERE completed_at IS NOT NULL;

-- The models that each job uses. A row of a job is never removed.
CREATE TABLE job_models (
    account TEXT NOT NULL,
    sha256  TEXT NOT NULL,
    job_id  TEXT NOT NULL REFERENCES jobs (job_id),
    PRIMARY KEY (account, sha256, job_id)
) STRICT, WITHOUT ROWID;
