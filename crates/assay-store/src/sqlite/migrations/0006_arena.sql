-- The arena: seasons of scenarios, and jobs that are submissions to them.

ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'verify' CHECK (kind IN ('verify', 'submission', 'rerun'));
ALTER TABLE jobs ADD COLUMN season INTEGER;             -- of its scenario; set unless it is a verification
ALTER TABLE jobs ADD COLUMN rerun_of TEXT;              -- the submission that runs again

DROP INDEX jobs_by_account;
CREATE INDEX jobs_by_account ON jobs (account, kind, job_id);
CREATE INDEX jobs_by_season ON jobs (scenario, season, kind, account, job_id) WHERE season IS NOT NULL;

CREATE TABLE seasons (
    scenario     TEXT NOT NULL,
    number       INTEGER NOT NULL CHECK (number > 0),
    state        TEXT NOT NULL CHECK (state IN ('OPEN', 'CLOSING', 'CLOSED')),
    pins         TEXT NOT NULL,                         -- JSON: SeasonPins
    secret       BLOB NOT NULL CHECK (length(secret) = 32),
    rerun_secret BLOB CHECK (length(rerun_secret) = 32),
    top          INTEGER,                               -- entries that run again
    opened_at    INTEGER NOT NULL,
    closing_at   INTEGER,
    reruns_at    INTEGER,                               -- when their runs were queued
    closed_at    INTEGER,
    PRIMARY KEY (scenario, number),
    CHECK ((state = 'OPEN') = (closing_at IS NULL AND rerun_secret IS NULL)),
    CHECK ((state = 'CLOSED') = (closed_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX seasons_running ON seasons (scenario) WHERE state <> 'CLOSED';

-- Which submission counts for an account, where it is not the latest.
CREATE TABLE choices (
    account  TEXT NOT NULL,
    scenario TEXT NOT NULL,
    season   INTEGER NOT NULL,
    job_id   TEXT NOT NULL REFERENCES jobs (job_id),
    PRIMARY KEY (account, scenario, season)
) STRICT, WITHOUT ROWID;
