-- The queue without its jobs' rows, which are large and reached one by one: each forecast reads ten thousand of them, and
-- each job that is newer than the forecast counts those before it.
CREATE INDEX jobs_open ON jobs (job_id, status, kind, scenario) WHERE status IN ('QUEUED', 'RUNNING');

DROP INDEX shards_queued;
CREATE INDEX shards_queued ON shards (remote, account, job_id, shard, first_episode, end_episode) WHERE state = 'QUEUED';
