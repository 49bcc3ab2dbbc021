-- What was signed of a completed job, byte for byte. In the records, so that it is on the disk with the very commit that
-- completes the job.
CREATE TABLE signed (
    job_id    TEXT PRIMARY KEY NOT NULL REFERENCES jobs (job_id),
    report    BLOB NOT NULL,
    statement BLOB NOT NULL
) STRICT;
