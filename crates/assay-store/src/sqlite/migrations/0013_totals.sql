-- How many jobs each account has, so that a list tells it without counting them: a row of a job is never removed.
ALTER TABLE account_use ADD COLUMN verifications INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account_use ADD COLUMN submissions   INTEGER NOT NULL DEFAULT 0;

INSERT INTO account_use (account, verifications, submissions)
SELECT account, sum(kind = 'verify'), sum(kind = 'submission') FROM jobs WHERE TRUE GROUP BY account
ON CONFLICT (account) DO UPDATE SET verifications = excluded.verifications, submissions = excluded.submissions;

DROP TRIGGER quotas_of_new_jobs;
CREATE TRIGGER quotas_of_new_jobs AFTER INSERT ON jobs BEGIN
    INSERT INTO account_use (account, active_jobs, queued_sim_s, stored_bytes, verifications, submissions)
    VALUES (NEW.account, 1, NEW.sim_s, NEW.policy_bytes, NEW.kind = 'verify', NEW.kind = 'submission')
    ON CONFLICT (account) DO UPDATE SET active_jobs = active_jobs + 1, queued_sim_s = queued_sim_s + NEW.sim_s,
                                        stored_bytes = stored_bytes + NEW.policy_bytes,
                                        verifications = verifications + excluded.verifications,
                                        submissions = submissions + excluded.submissions;
    -- Nobody asked for what a closing season runs again.
    INSERT INTO account_days (account, day, jobs)
    VALUES (NEW.account, NEW.created_at / 86400000000, NEW.kind <> 'rerun')
    ON CONFLICT (account, day) DO UPDATE SET jobs = jobs + (NEW.kind <> 'rerun');
    -- Yesterday's may still be given back; nobody asks for older ones.
    DELETE FROM account_days WHERE account = NEW.account AND day < NEW.created_at / 86400000000 - 1;
END;

-- One index for who needs an archive, with or without an account; one for which archives are old.
DROP INDEX jobs_with_policy;
DROP INDEX jobs_by_policy;
CREATE INDEX jobs_by_policy ON jobs (policy_path, account) WHERE policy_path IS NOT NULL AND policy_removed_at IS NULL;
CREATE INDEX jobs_with_policy ON jobs (completed_at)
WHERE completed_at IS NOT NULL AND policy_path IS NOT NULL AND policy_removed_at IS NULL;
