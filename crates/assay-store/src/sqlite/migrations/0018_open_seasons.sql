-- The use that an account sees must not reveal what a submission does in the secret worlds of an open season: the
-- evidence of submissions, which grows with each episode, belongs to the season's host and counts for no account.
UPDATE account_use SET stored_bytes = stored_bytes - coalesce(
    (SELECT sum(evidence_bytes) FROM jobs WHERE jobs.account = account_use.account AND jobs.kind <> 'verify'), 0);

DROP TRIGGER quotas_of_stored_bytes;
CREATE TRIGGER quotas_of_stored_bytes AFTER UPDATE OF policy_bytes, evidence_bytes ON jobs BEGIN
    UPDATE account_use SET stored_bytes = stored_bytes + NEW.policy_bytes - OLD.policy_bytes
                                          + iif(NEW.kind = 'verify', NEW.evidence_bytes - OLD.evidence_bytes, 0)
    WHERE account = NEW.account;
END;

-- Submissions that have not ended: estimates count them by what is published of them.
CREATE INDEX submissions_open ON jobs (job_id)
WHERE kind = 'submission' AND status IN ('QUEUED', 'RUNNING', 'JUDGING');

-- How long drawing a conclusion takes: a mean in which the last ones count most, of verifications alone.
CREATE TABLE conclusion_pace (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    jobs    INTEGER NOT NULL,                      -- measured so far
    seconds REAL NOT NULL
) STRICT;

INSERT INTO conclusion_pace (one, jobs, seconds)
SELECT 1, count(*), avg(done.at - judging.at) / 1e6 FROM
    (SELECT events.job_id, number, at FROM events JOIN jobs USING (job_id)
     WHERE events.status = 'COMPLETED' AND jobs.kind = 'verify' ORDER BY event DESC LIMIT 20) AS done
    JOIN events AS judging ON judging.job_id = done.job_id AND judging.number = done.number - 1
    WHERE judging.status = 'JUDGING'
HAVING count(*) > 0;
