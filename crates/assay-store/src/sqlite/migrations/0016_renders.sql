-- What is drawn of an episode after the verdict: a row for each one that is to have a log and a video. WAITING until its job
-- is COMPLETED. The log comes first; then the same row is queued again for the video. A row that is DONE says what there is.

CREATE TABLE renders (
    job_id      TEXT NOT NULL REFERENCES jobs (job_id),
    episode     INTEGER NOT NULL,
    part        TEXT NOT NULL CHECK (part IN ('LOG', 'VIDEO')),
    state       TEXT NOT NULL CHECK (state IN ('WAITING', 'QUEUED', 'LEASED', 'DONE')),
    later       INTEGER NOT NULL CHECK (later IN (0, 1)),   -- 0: something was violated, so it comes first
    attempt     INTEGER NOT NULL DEFAULT 0,                 -- the fence: counts claims
    failures    INTEGER NOT NULL DEFAULT 0,                 -- of this part
    lapses      INTEGER NOT NULL DEFAULT 0,                 -- of this part
    worker      TEXT,
    lease_until INTEGER,
    files       TEXT NOT NULL DEFAULT '[]',                 -- JSON: a list of Artifact
    notes       TEXT NOT NULL DEFAULT '[]',                 -- JSON: a list of text
    PRIMARY KEY (job_id, episode),
    CHECK ((state = 'LEASED') = (worker IS NOT NULL AND lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX renders_queued ON renders (failures, part, later, job_id, episode) WHERE state = 'QUEUED';
CREATE INDEX renders_leased ON renders (lease_until) WHERE state = 'LEASED';
