-- Facts about episodes without a result that outlive the attempt in which they were seen; removed with the result.
CREATE TABLE attempt_notes (
    job_id  TEXT NOT NULL REFERENCES jobs (job_id),
    episode INTEGER NOT NULL,
    number  INTEGER NOT NULL,                      -- in the order of their coming, from 1
    note    TEXT NOT NULL,                         -- JSON: AttemptNote
    PRIMARY KEY (job_id, episode, number)
) STRICT, WITHOUT ROWID;

-- A queued shard is not handed out before this time: the storage that it needs was not to be reached.
ALTER TABLE shards ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
