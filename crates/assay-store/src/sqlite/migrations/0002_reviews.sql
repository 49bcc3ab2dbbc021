-- What people decided about results; the last one of a job is the one that is shown, the others stay for the record.

CREATE TABLE reviews (
    job_id TEXT NOT NULL REFERENCES jobs (job_id),
    number INTEGER NOT NULL,                       -- from 1
    key_id TEXT NOT NULL,                          -- whose key it was
    review TEXT NOT NULL,                          -- JSON: Review
    PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;
