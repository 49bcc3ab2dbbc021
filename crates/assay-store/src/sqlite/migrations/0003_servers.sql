-- Shards of jobs whose policy is a server: they mostly wait for it, so they are claimed apart from the others.

ALTER TABLE shards ADD COLUMN remote INTEGER NOT NULL DEFAULT 0 CHECK (remote IN (0, 1));

DROP INDEX shards_queued;
CREATE INDEX shards_queued ON shards (remote, account, job_id, shard) WHERE state = 'QUEUED';
DROP INDEX shards_leased;
CREATE INDEX shards_leased ON shards (remote, account, lease_until) WHERE state = 'LEASED';
