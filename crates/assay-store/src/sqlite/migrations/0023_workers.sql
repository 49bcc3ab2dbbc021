-- Workers on other hosts. A token is stored as its hash; whoever presents it is the worker.
CREATE TABLE workers (
    name          TEXT PRIMARY KEY,
    token_hash    BLOB NOT NULL UNIQUE,
    trusted       INTEGER NOT NULL,                -- may run secret worlds
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    state         TEXT NOT NULL CHECK (state IN ('ACTIVE', 'DRAINING', 'REVOKED', 'QUARANTINED')),
    reason        TEXT,                            -- of its quarantine
    state_since   INTEGER NOT NULL,
    generation    INTEGER NOT NULL DEFAULT 0,      -- counts registrations
    registration  TEXT,                            -- JSON: WorkerRegistration; null before the first
    seen_at       INTEGER
) STRICT, WITHOUT ROWID;

-- Fingerprints of machines. All episodes of a job run on machines of one fingerprint.
CREATE TABLE machines (
    digest      TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL                      -- JSON: Fingerprint
) STRICT, WITHOUT ROWID;

-- The machine is null until the first claim. Cameras, memory and confinement are what the job demands of its workers.
ALTER TABLE shards ADD COLUMN machine TEXT;
ALTER TABLE shards ADD COLUMN runtime TEXT;
ALTER TABLE shards ADD COLUMN cameras INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shards ADD COLUMN memory_mib INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shards ADD COLUMN confined INTEGER NOT NULL DEFAULT 2;

-- Who ran an episode, if it was a worker on another host.
ALTER TABLE episodes ADD COLUMN worker TEXT;
CREATE INDEX episodes_of_workers ON episodes (worker, job_id, episode) WHERE worker IS NOT NULL;
