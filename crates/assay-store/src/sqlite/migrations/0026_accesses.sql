-- Accesses of administrators and reviewers to what belongs to other accounts. The keys and things may be gone.

CREATE TABLE accesses (
    moment  INTEGER NOT NULL,                      -- number of the minute: the same access is recorded once in it
    key_id  TEXT NOT NULL,
    action  TEXT NOT NULL,
    target  TEXT NOT NULL,                         -- id of the job, key or scenario
    at      INTEGER NOT NULL,
    account TEXT NOT NULL,                         -- of the key
    owner   TEXT NOT NULL,
    PRIMARY KEY (moment, key_id, action, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX accesses_by_time ON accesses (at);
