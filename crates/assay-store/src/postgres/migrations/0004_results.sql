-- Recording of results: a function each, so that the result of an episode takes one exchange with the server. A
-- function is part of the schema: one that changes gets a new name, and the old one stays for the version before.

-- Records a result under the fence of its shard. The caller holds the lock of the job's row, and counts the evidence
-- and the duration itself, at the end of its transaction, since many jobs share those rows.
CREATE FUNCTION record_result(
    of_job uuid, of_shard bigint, under_attempt bigint, of_episode bigint, planned_episodes bigint,
    its_status text, its_wall_time_s double precision, its_result text,
    ends_plan boolean,                             -- it is the first failure of a certification
    render_later boolean,                          -- null: it is not rendered
    at_time bigint,
    OUT outcome text, OUT left_in_shard bigint, OUT left_in_job bigint, OUT since bigint
) LANGUAGE plpgsql AS $$
DECLARE
    held shards%ROWTYPE;
    is_written boolean;
BEGIN
    SELECT * INTO held FROM shards WHERE job_id = of_job AND shard = of_shard FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'FENCED';
        RETURN;
    END IF;
    IF of_episode < held.first_episode OR of_episode >= held.end_episode THEN
        -- The end of the job may have moved before this episode after the shard was claimed.
        SELECT CASE WHEN of_episode >= num_episodes AND of_episode < planned_episodes THEN 'FENCED' ELSE 'FOREIGN' END
        INTO outcome FROM jobs WHERE job_id = of_job;
        RETURN;
    END IF;
    is_written := EXISTS (SELECT 1 FROM episodes WHERE job_id = of_job AND episode = of_episode);
    -- The worker that wrote the result may repeat it, because the answer was lost, and continue. Another worker must
    -- stop.
    IF held.attempt <> under_attempt OR (held.state <> 'LEASED' AND NOT is_written) THEN
        outcome := 'FENCED';
        RETURN;
    END IF;
    IF is_written THEN
        outcome := 'DUPLICATE';
        RETURN;
    END IF;

    INSERT INTO episodes (job_id, episode, shard, attempt, worker, status, recorded_at, wall_time_s, result)
    VALUES (of_job, of_episode, of_shard, under_attempt, CASE WHEN held.worker LIKE 'host/%' THEN held.worker END,
            its_status, at_time, its_wall_time_s, its_result);
    DELETE FROM attempt_notes WHERE job_id = of_job AND episode = of_episode;
    IF render_later IS NOT NULL THEN
        INSERT INTO renders (job_id, episode, part, state, later)
        VALUES (of_job, of_episode, 'LOG', 'WAITING', render_later);
    END IF;
    IF ends_plan THEN
        DELETE FROM episodes WHERE job_id = of_job AND episode > of_episode;
        DELETE FROM renders WHERE job_id = of_job AND episode > of_episode;
        UPDATE shards SET state = 'ABANDONED', worker = NULL, lease_until = NULL
        WHERE job_id = of_job AND first_episode > of_episode AND state IN ('QUEUED', 'LEASED');
        UPDATE shards SET end_episode = of_episode + 1
        WHERE job_id = of_job AND first_episode <= of_episode AND end_episode > of_episode + 1;
        -- The result itself is counted below.
        UPDATE jobs SET num_episodes = of_episode + 1,
                        episodes_done = (SELECT count(*) FROM episodes WHERE job_id = of_job AND episode <> of_episode)
        WHERE job_id = of_job AND status = 'RUNNING';
        held.end_episode := of_episode + 1;
    END IF;

    UPDATE jobs SET episodes_done = episodes_done + 1, recorded_at = greatest(recorded_at, at_time)
    WHERE job_id = of_job AND status = 'RUNNING'
    RETURNING num_episodes - episodes_done INTO STRICT left_in_job;
    IF left_in_job = 0 THEN
        UPDATE jobs SET status = 'JUDGING' WHERE job_id = of_job;
    END IF;
    SELECT held.end_episode - held.first_episode - count(*) INTO left_in_shard FROM episodes
    WHERE job_id = of_job AND episode >= held.first_episode AND episode < held.end_episode;
    UPDATE shards SET failures = 0, lapses = 0, since = at_time,
                      state = CASE left_in_shard WHEN 0 THEN 'DONE' ELSE state END,
                      worker = CASE left_in_shard WHEN 0 THEN NULL ELSE worker END,
                      lease_until = CASE left_in_shard WHEN 0 THEN NULL ELSE lease_until END
    WHERE job_id = of_job AND shard = of_shard;
    outcome := 'NEW';
    since := held.since;
END $$;

-- Adds measured durations of episodes, in s, to the moving mean of at most `most` of them.
CREATE FUNCTION measure_episodes(of_scenario text, of_server boolean, durations double precision[], most bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    duration double precision;
BEGIN
    FOREACH duration IN ARRAY durations LOOP
        INSERT INTO paces AS known (scenario, remote, episodes, seconds) VALUES (of_scenario, of_server, 1, duration)
        ON CONFLICT (scenario, remote) DO UPDATE SET
            episodes = known.episodes + 1,
            seconds = known.seconds + (duration - known.seconds) / least(known.episodes + 1, most);
    END LOOP;
END $$;
