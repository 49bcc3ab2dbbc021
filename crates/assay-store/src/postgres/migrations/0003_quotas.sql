-- The usage of each account, maintained by triggers in the transaction of the change, so that it is given back
-- however a job ends. Transactions lock the row of an account after those of jobs and shards.

CREATE TABLE account_use (
    account       text COLLATE "C" NOT NULL PRIMARY KEY,
    active_jobs   bigint NOT NULL DEFAULT 0,       -- QUEUED, RUNNING, JUDGING
    queued_sim_s  bigint NOT NULL DEFAULT 0,       -- of those
    stored_bytes  bigint NOT NULL DEFAULT 0,       -- policies and evidence, while they are kept
    verifications bigint NOT NULL DEFAULT 0,       -- all that were ever accepted
    submissions   bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE account_days (
    account text COLLATE "C" NOT NULL,
    day     bigint NOT NULL,                       -- since 1970, UTC
    jobs    bigint NOT NULL,                       -- requested and accepted, without those that FAILED through our fault
    PRIMARY KEY (account, day)
);

-- Position of an account's last claim in the sequence of all claims. In a table of its own, so that a claim does not
-- wait for the results of its account.
CREATE TABLE account_turns (
    account text COLLATE "C" NOT NULL PRIMARY KEY,
    turn    bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE SEQUENCE turns;

CREATE FUNCTION count_new_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    today bigint := NEW.created_at / 86400000000;
    requested bigint := (NEW.kind <> 'rerun')::int;
BEGIN
    INSERT INTO account_use AS known (account, active_jobs, queued_sim_s, stored_bytes, verifications, submissions)
    VALUES (NEW.account, 1, NEW.sim_s, NEW.policy_bytes, (NEW.kind = 'verify')::int, (NEW.kind = 'submission')::int)
    ON CONFLICT (account) DO UPDATE SET
        active_jobs = known.active_jobs + 1, queued_sim_s = known.queued_sim_s + NEW.sim_s,
        stored_bytes = known.stored_bytes + NEW.policy_bytes,
        verifications = known.verifications + excluded.verifications,
        submissions = known.submissions + excluded.submissions;
    INSERT INTO account_days AS known (account, day, jobs) VALUES (NEW.account, today, requested)
    ON CONFLICT (account, day) DO UPDATE SET jobs = known.jobs + requested;
    -- Yesterday's may still be given back; older ones are never read.
    DELETE FROM account_days WHERE account = NEW.account AND day < today - 1;
    INSERT INTO account_turns (account) VALUES (NEW.account) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER quotas_of_new_jobs AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION count_new_job();

CREATE FUNCTION count_ended_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account_use SET active_jobs = active_jobs - 1, queued_sim_s = queued_sim_s - OLD.sim_s
    WHERE account = NEW.account;
    IF NEW.kind <> 'rerun' AND NEW.status = 'FAILED' AND NEW.failed_by_platform THEN
        UPDATE account_days SET jobs = jobs - 1
        WHERE account = NEW.account AND day = NEW.created_at / 86400000000;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER quotas_of_ended_jobs AFTER UPDATE OF status ON jobs FOR EACH ROW
WHEN (OLD.status IN ('QUEUED', 'RUNNING', 'JUDGING') AND NEW.status NOT IN ('QUEUED', 'RUNNING', 'JUDGING'))
EXECUTE FUNCTION count_ended_job();

-- Removed files use no space.
CREATE FUNCTION drop_removed_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.evidence_removed_at IS NOT NULL THEN
        NEW.evidence_bytes := 0;
    END IF;
    IF NEW.policy_removed_at IS NOT NULL THEN
        NEW.policy_bytes := 0;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER quotas_of_removals BEFORE UPDATE OF evidence_removed_at, policy_removed_at ON jobs FOR EACH ROW
EXECUTE FUNCTION drop_removed_bytes();

-- The usage that an account sees must not reveal what a submission does in the secret worlds of an open season: the
-- evidence of submissions counts for no account.
CREATE FUNCTION count_stored_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE account_use SET stored_bytes = stored_bytes + NEW.policy_bytes - OLD.policy_bytes
        + CASE NEW.kind WHEN 'verify' THEN NEW.evidence_bytes - OLD.evidence_bytes ELSE 0 END
    WHERE account = NEW.account;
    RETURN NULL;
END $$;

CREATE TRIGGER quotas_of_stored_bytes AFTER UPDATE ON jobs FOR EACH ROW
WHEN (NEW.policy_bytes <> OLD.policy_bytes OR (NEW.kind = 'verify' AND NEW.evidence_bytes <> OLD.evidence_bytes))
EXECUTE FUNCTION count_stored_bytes();
