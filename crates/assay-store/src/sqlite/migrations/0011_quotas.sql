-- What each account has: kept by triggers in the transaction of the change itself, so that no way for a job to end can
-- forget to give back. `turn` says when the account was last given a shard; whoever waited longest comes first.

ALTER TABLE jobs ADD COLUMN sim_s INTEGER NOT NULL DEFAULT 0;          -- simulated seconds, if no episode ends early
ALTER TABLE jobs ADD COLUMN policy_bytes INTEGER NOT NULL DEFAULT 0;   -- of the archive, if the account had not sent it yet
ALTER TABLE jobs ADD COLUMN evidence_bytes INTEGER NOT NULL DEFAULT 0;

CREATE INDEX jobs_by_policy ON jobs (account, policy_path) WHERE policy_path IS NOT NULL;

CREATE TABLE account_use (
    account      TEXT NOT NULL PRIMARY KEY,
    active_jobs  INTEGER NOT NULL DEFAULT 0,       -- QUEUED, RUNNING, JUDGING
    queued_sim_s INTEGER NOT NULL DEFAULT 0,       -- of those
    stored_bytes INTEGER NOT NULL DEFAULT 0,       -- policies and evidence, while they are kept
    turn         INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX account_turns ON account_use (turn);

CREATE TABLE account_days (
    account TEXT NOT NULL,
    day     INTEGER NOT NULL,                      -- since 1970, UTC
    jobs    INTEGER NOT NULL,                      -- asked for and accepted, without those that FAILED through our fault
    PRIMARY KEY (account, day)
) STRICT, WITHOUT ROWID;

INSERT INTO account_use (account, active_jobs)
SELECT account, sum(status IN ('QUEUED', 'RUNNING', 'JUDGING')) FROM jobs GROUP BY account;

INSERT INTO account_days (account, day, jobs)
SELECT account, created_at / 86400000000, count(*) FROM jobs
WHERE kind <> 'rerun' AND (status <> 'FAILED' OR failure ->> 'blame' <> 'platform') GROUP BY 1, 2;

CREATE TRIGGER quotas_of_new_jobs AFTER INSERT ON jobs BEGIN
    INSERT INTO account_use (account, active_jobs, queued_sim_s, stored_bytes)
    VALUES (NEW.account, 1, NEW.sim_s, NEW.policy_bytes)
    ON CONFLICT (account) DO UPDATE SET active_jobs = active_jobs + 1, queued_sim_s = queued_sim_s + NEW.sim_s,
                                        stored_bytes = stored_bytes + NEW.policy_bytes;
    -- Nobody asked for what a closing season runs again.
    INSERT INTO account_days (account, day, jobs)
    VALUES (NEW.account, NEW.created_at / 86400000000, NEW.kind <> 'rerun')
    ON CONFLICT (account, day) DO UPDATE SET jobs = jobs + (NEW.kind <> 'rerun');
    -- Yesterday's may still be given back; nobody asks for older ones.
    DELETE FROM account_days WHERE account = NEW.account AND day < NEW.created_at / 86400000000 - 1;
END;

CREATE TRIGGER quotas_of_stored_bytes AFTER UPDATE OF policy_bytes, evidence_bytes ON jobs BEGIN
    UPDATE account_use SET stored_bytes = stored_bytes + NEW.policy_bytes - OLD.policy_bytes
                                          + NEW.evidence_bytes - OLD.evidence_bytes
    WHERE account = NEW.account;
END;

CREATE TRIGGER quotas_of_ended_jobs AFTER UPDATE OF status ON jobs
WHEN OLD.status IN ('QUEUED', 'RUNNING', 'JUDGING') AND NEW.status NOT IN ('QUEUED', 'RUNNING', 'JUDGING') BEGIN
    UPDATE account_use SET active_jobs = active_jobs - 1, queued_sim_s = queued_sim_s - OLD.sim_s
    WHERE account = NEW.account;
    UPDATE account_days SET jobs = jobs - 1
    WHERE account = NEW.account AND day = NEW.created_at / 86400000000
          AND NEW.kind <> 'rerun' AND NEW.status = 'FAILED' AND NEW.failure ->> 'blame' = 'platform';
END;

-- What is removed needs no room.
CREATE TRIGGER quotas_of_removals AFTER UPDATE OF evidence_removed_at, policy_removed_at ON jobs BEGIN
    UPDATE jobs SET evidence_bytes = iif(NEW.evidence_removed_at IS NULL, evidence_bytes, 0),
                    policy_bytes = iif(NEW.policy_removed_at IS NULL, policy_bytes, 0)
    WHERE job_id = NEW.job_id;
END;
