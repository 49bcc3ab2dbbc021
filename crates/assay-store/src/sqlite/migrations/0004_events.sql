-- What happened to a job, as those who follow it read it: each change of state and the end of each episode. Triggers write
-- it in the transaction of the change itself, so that no change can go without. `event` counts over all jobs and tells
-- what is new; `number` counts in the job, from 1.

CREATE TABLE events (
    event          INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id         TEXT NOT NULL REFERENCES jobs (job_id) ON DELETE CASCADE,
    number         INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    status         TEXT NOT NULL,
    verdict        TEXT,
    episodes_done  INTEGER NOT NULL,
    episodes_total INTEGER NOT NULL,
    failure        TEXT,                           -- what is told of a job that FAILED
    UNIQUE (job_id, number)
) STRICT;

-- Jobs from before have one event: where they stand.
INSERT INTO events (job_id, number, at, status, verdict, episodes_done, episodes_total, failure)
SELECT job_id, 1, coalesce(completed_at, started_at, created_at), status, verdict, episodes_done, num_episodes,
       failure ->> 'message'
FROM jobs ORDER BY job_id;

CREATE TRIGGER events_of_new_jobs AFTER INSERT ON jobs BEGIN
    INSERT INTO events (job_id, number, at, status, verdict, episodes_done, episodes_total, failure)
    VALUES (NEW.job_id, 1, NEW.created_at, NEW.status, NEW.verdict, NEW.episodes_done, NEW.num_episodes, NULL);
END;

CREATE TRIGGER events_of_jobs AFTER UPDATE OF status, episodes_done ON jobs
WHEN NEW.status <> OLD.status OR NEW.episodes_done > OLD.episodes_done BEGIN
    INSERT INTO events (job_id, number, at, status, verdict, episodes_done, episodes_total, failure)
    SELECT NEW.job_id, coalesce(max(number), 0) + 1,
           coalesce(NEW.completed_at, (SELECT max(recorded_at) FROM episodes WHERE job_id = NEW.job_id),
                    NEW.started_at, NEW.created_at),
           NEW.status, NEW.verdict, NEW.episodes_done, NEW.num_episodes, NEW.failure ->> 'message'
    FROM events WHERE job_id = NEW.job_id;
END;
