-- The history of jobs: each change of state and the end of each episode. A trigger writes it in the transaction of
-- the change, which holds the lock of the job's row, so the numbers of a job have no gaps and become visible in their
-- order.

CREATE TABLE events (
    job_id         uuid NOT NULL REFERENCES jobs (job_id) ON DELETE CASCADE,
    number         bigint NOT NULL,                -- from 1
    at             bigint NOT NULL,
    status         text NOT NULL,
    verdict        text,
    episodes_done  bigint NOT NULL,
    episodes_total bigint NOT NULL,
    failure        text,                           -- message of a FAILED job
    PRIMARY KEY (job_id, number)
);

CREATE FUNCTION write_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (job_id, number, at, status, verdict, episodes_done, episodes_total, failure)
    SELECT NEW.job_id, coalesce(max(number), 0) + 1,
           coalesce(NEW.completed_at, NEW.recorded_at, NEW.started_at, NEW.created_at),
           NEW.status, NEW.verdict, NEW.episodes_done, NEW.num_episodes, NEW.failure_message
    FROM events WHERE job_id = NEW.job_id;
    RETURN NULL;
END $$;

CREATE TRIGGER events_of_new_jobs AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION write_job_event();

CREATE TRIGGER events_of_jobs AFTER UPDATE OF status, episodes_done ON jobs FOR EACH ROW
WHEN (NEW.status <> OLD.status OR NEW.episodes_done > OLD.episodes_done) EXECUTE FUNCTION write_job_event();
