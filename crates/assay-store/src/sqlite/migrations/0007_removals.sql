-- What was removed of a job, and whether its files may still be there.

ALTER TABLE jobs ADD COLUMN erased_at INTEGER;
ALTER TABLE jobs ADD COLUMN evidence_removed_at INTEGER;
ALTER TABLE jobs ADD COLUMN policy_removed_at INTEGER;
ALTER TABLE jobs ADD COLUMN removing INTEGER NOT NULL DEFAULT 0 CHECK (removing IN (0, 1));

CREATE INDEX jobs_removing ON jobs (job_id) WHERE removing = 1;
CREATE INDEX jobs_with_evidence ON jobs (completed_at) WHERE completed_at IS NOT NULL AND evidence_removed_at IS NULL;
CREATE INDEX jobs_with_policy ON jobs (policy_path, completed_at) WHERE policy_path IS NOT NULL AND policy_removed_at IS NULL;
