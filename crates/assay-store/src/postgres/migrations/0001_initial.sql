-- Times are microseconds since 1970 UTC. Texts are compared byte by byte. Ids of jobs are UUIDv7, so their order is
-- the order of acceptance. JSON is stored as text, since jsonb would change numbers such as -0.0.

CREATE TABLE keys (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    account      text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    scopes       text NOT NULL,
    secret_hash  bytea NOT NULL CHECK (length(secret_hash) = 32),
    created_at   bigint NOT NULL,
    expires_at   bigint,
    revoked_at   bigint,
    last_used_at bigint
);

-- `hash` is that of the secret in the cookie; a session is valid as long as its key, at most.
CREATE TABLE sessions (
    hash       bytea NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    key_id     text COLLATE "C" NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE INDEX sessions_by_key ON sessions (key_id, created_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Responses to requests with an idempotency key. The status is null while the request is being processed.
CREATE TABLE answers (
    account  text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    request  bytea NOT NULL CHECK (length(request) = 32),  -- hash of route and content
    attempt  uuid NOT NULL,                                -- of the request that holds the key
    begun_at bigint NOT NULL,
    status   bigint,
    location text,
    body     bytea,                                        -- null if it was too long to keep
    PRIMARY KEY (account, key),
    CHECK (status IS NOT NULL OR (location IS NULL AND body IS NULL))
);

CREATE INDEX answers_by_age ON answers (begun_at);
CREATE INDEX answers_of_account ON answers (account, begun_at);

CREATE TABLE jobs (
    job_id              uuid NOT NULL PRIMARY KEY,
    account             text COLLATE "C" NOT NULL,
    kind                text NOT NULL CHECK (kind IN ('verify', 'submission', 'rerun')),
    scenario            text COLLATE "C" NOT NULL,
    machine             text COLLATE "C",          -- digest of the machines that run it; null until a claim
    machine_fingerprint text,                      -- JSON: Fingerprint
    season              bigint,                    -- of its scenario; set unless it is a verification
    rerun_of            uuid,                      -- the submission that runs again
    status              text COLLATE "C" NOT NULL
                        CHECK (status IN ('QUEUED', 'RUNNING', 'JUDGING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    header              text NOT NULL,             -- JSON: JobHeader, never changed
    policy_path         text COLLATE "C",          -- relative to the data folder
    num_episodes        bigint NOT NULL CHECK (num_episodes > 0),
    episodes_done       bigint NOT NULL DEFAULT 0 CHECK (episodes_done <= num_episodes),
    created_at          bigint NOT NULL,
    started_at          bigint,
    recorded_at         bigint,                    -- time of its last result
    completed_at        bigint,
    verdict             text,                      -- copy of the conclusion's, for filters
    conclusion          text,                      -- JSON: Conclusion
    fingerprint         text,                      -- JSON: Fingerprint
    failure             text,                      -- JSON: JobFailure
    failed_by_platform  boolean NOT NULL DEFAULT false,  -- copies of its fields, for triggers
    failure_message     text,
    judge_attempt       bigint NOT NULL DEFAULT 0,
    judge_worker        text,                      -- set while a worker concludes
    judge_lease_until   bigint,
    judge_failures      bigint NOT NULL DEFAULT 0,
    judge_lapses        bigint NOT NULL DEFAULT 0,
    erased_at           bigint,
    evidence_removed_at bigint,
    policy_removed_at   bigint,
    removing            boolean NOT NULL DEFAULT false,
    sim_s               bigint NOT NULL DEFAULT 0, -- simulated seconds, if no episode ends early
    policy_bytes        bigint NOT NULL DEFAULT 0, -- of the archive, if the account had not sent it yet
    evidence_bytes      bigint NOT NULL DEFAULT 0,
    CHECK ((status = 'COMPLETED') = (conclusion IS NOT NULL AND fingerprint IS NOT NULL)),
    CHECK ((status = 'FAILED') = (failure IS NOT NULL)),
    CHECK ((status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL))
) WITH (fillfactor = 70);                          -- each result updates the row of its job

CREATE INDEX jobs_by_account ON jobs (account, kind, job_id);
CREATE INDEX jobs_by_status ON jobs (status, job_id);
CREATE INDEX jobs_by_season ON jobs (scenario, season, kind, account, job_id) WHERE season IS NOT NULL;
CREATE INDEX jobs_by_scenario ON jobs (scenario);
CREATE INDEX jobs_by_rerun ON jobs (rerun_of) WHERE rerun_of IS NOT NULL;
CREATE INDEX jobs_open ON jobs (job_id, status, kind, scenario) WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX submissions_open ON jobs (job_id)
WHERE kind = 'submission' AND status IN ('QUEUED', 'RUNNING', 'JUDGING');
CREATE INDEX jobs_removing ON jobs (job_id) WHERE removing;
CREATE INDEX jobs_with_evidence ON jobs (completed_at)
WHERE completed_at IS NOT NULL AND evidence_removed_at IS NULL;
CREATE INDEX jobs_by_policy ON jobs (policy_path, account) WHERE policy_path IS NOT NULL AND policy_removed_at IS NULL;
CREATE INDEX jobs_with_policy ON jobs (completed_at)
WHERE completed_at IS NOT NULL AND policy_path IS NOT NULL AND policy_removed_at IS NULL;

CREATE TABLE shards (
    job_id        uuid NOT NULL REFERENCES jobs (job_id),
    shard         bigint NOT NULL,
    account       text COLLATE "C" NOT NULL,
    remote        boolean NOT NULL,                -- the policy is a server
    runtime       text COLLATE "C",                -- what the job demands of its workers, never changed
    cameras       boolean NOT NULL,
    memory_mib    bigint NOT NULL,
    confined      bigint NOT NULL,
    first_episode bigint NOT NULL,
    end_episode   bigint NOT NULL CHECK (end_episode > first_episode),     -- one past the last
    state         text NOT NULL CHECK (state IN ('QUEUED', 'LEASED', 'DONE', 'ABANDONED')),
    attempt       bigint NOT NULL DEFAULT 0,       -- the fence: counts claims
    failures      bigint NOT NULL DEFAULT 0,       -- since the last new episode
    lapses        bigint NOT NULL DEFAULT 0,       -- since the last new episode
    last_failure  text,
    not_before    bigint NOT NULL DEFAULT 0,       -- not claimed before: storage that it needs was unreachable
    worker        text,
    lease_until   bigint,
    since         bigint,                          -- time of the claim, or of the last result
    PRIMARY KEY (job_id, shard),
    CHECK ((state = 'LEASED') = (worker IS NOT NULL AND lease_until IS NOT NULL))
) WITH (fillfactor = 70);

CREATE INDEX shards_queued ON shards (remote, account, job_id, shard) INCLUDE (first_episode, end_episode)
WHERE state = 'QUEUED';
CREATE INDEX shards_by_age ON shards (job_id, shard) WHERE state = 'QUEUED';
CREATE INDEX shards_leased ON shards (remote, account) WHERE state = 'LEASED';
CREATE INDEX shards_by_worker ON shards (worker) WHERE state = 'LEASED';
CREATE INDEX shards_by_lease ON shards (lease_until) WHERE state = 'LEASED';

CREATE TABLE episodes (
    job_id      uuid NOT NULL REFERENCES jobs (job_id),
    episode     bigint NOT NULL,
    shard       bigint NOT NULL,
    attempt     bigint NOT NULL,
    worker      text COLLATE "C",                  -- if it was a worker on another host
    status      text NOT NULL,
    recorded_at bigint NOT NULL,
    wall_time_s double precision NOT NULL,         -- copy of the result's
    result      text NOT NULL,                     -- JSON: EpisodeResult
    PRIMARY KEY (job_id, episode)
);

CREATE INDEX episodes_of_workers ON episodes (worker, job_id, episode) WHERE worker IS NOT NULL;

-- Facts about episodes without a result that outlive the attempt in which they were seen; removed with the result.
CREATE TABLE attempt_notes (
    job_id  uuid NOT NULL REFERENCES jobs (job_id),
    episode bigint NOT NULL,
    number  bigint NOT NULL,                       -- in the order of insertion, from 1
    note    text NOT NULL,                         -- JSON: AttemptNote
    PRIMARY KEY (job_id, episode, number)
);

-- The last review of a job is the one that is shown; the others stay for the record.
CREATE TABLE reviews (
    job_id uuid NOT NULL REFERENCES jobs (job_id),
    number bigint NOT NULL,                        -- from 1
    key_id text COLLATE "C" NOT NULL,              -- the reviewer's key
    review text NOT NULL,                          -- JSON: Review
    PRIMARY KEY (job_id, number)
);

-- The signed documents of a completed job, byte for byte.
CREATE TABLE signed (
    job_id    uuid NOT NULL PRIMARY KEY REFERENCES jobs (job_id),
    report    bytea NOT NULL,
    statement bytea NOT NULL
);

-- A row for each episode that is to have a log and a video, WAITING until its job is COMPLETED. The log comes first;
-- then the same row is queued again for the video. A row that is DONE lists the files.
CREATE TABLE renders (
    job_id      uuid NOT NULL REFERENCES jobs (job_id),
    episode     bigint NOT NULL,
    part        text COLLATE "C" NOT NULL CHECK (part IN ('LOG', 'VIDEO')),
    state       text NOT NULL CHECK (state IN ('WAITING', 'QUEUED', 'LEASED', 'DONE')),
    later       boolean NOT NULL,                  -- false: something was violated, so it comes first
    attempt     bigint NOT NULL DEFAULT 0,         -- the fence: counts claims
    failures    bigint NOT NULL DEFAULT 0,         -- of this part
    lapses      bigint NOT NULL DEFAULT 0,         -- of this part
    worker      text,
    lease_until bigint,
    files       text NOT NULL DEFAULT '[]',        -- JSON: a list of Artifact
    notes       text NOT NULL DEFAULT '[]',        -- JSON: a list of text
    PRIMARY KEY (job_id, episode),
    CHECK ((state = 'LEASED') = (worker IS NOT NULL AND lease_until IS NOT NULL))
);

CREATE INDEX renders_queued ON renders (failures, part, later, job_id, episode) WHERE state = 'QUEUED';
CREATE INDEX renders_leased ON renders (lease_until) WHERE state = 'LEASED';

CREATE TABLE seasons (
    scenario     text COLLATE "C" NOT NULL,
    number       bigint NOT NULL CHECK (number > 0),
    state        text NOT NULL CHECK (state IN ('OPEN', 'CLOSING', 'CLOSED')),
    pins         text NOT NULL,                    -- JSON: SeasonPins
    secret       bytea NOT NULL CHECK (length(secret) = 32),
    rerun_secret bytea CHECK (length(rerun_secret) = 32),
    top          bigint,                           -- entries that run again
    opened_at    bigint NOT NULL,
    closing_at   bigint,
    reruns_at    bigint,                           -- time at which their runs were queued
    closed_at    bigint,
    PRIMARY KEY (scenario, number),
    CHECK ((state = 'OPEN') = (closing_at IS NULL AND rerun_secret IS NULL)),
    CHECK ((state = 'CLOSED') = (closed_at IS NOT NULL))
);

CREATE UNIQUE INDEX seasons_running ON seasons (scenario) WHERE state <> 'CLOSED';

-- The submission that counts for an account, if it is not the latest.
CREATE TABLE choices (
    account  text COLLATE "C" NOT NULL,
    scenario text COLLATE "C" NOT NULL,
    season   bigint NOT NULL,
    job_id   uuid NOT NULL REFERENCES jobs (job_id),
    PRIMARY KEY (account, scenario, season)
);

-- Durations of episodes and of conclusions: moving means in which the last ones count most.
CREATE TABLE paces (
    scenario text COLLATE "C" NOT NULL,
    remote   boolean NOT NULL,
    episodes bigint NOT NULL,                      -- measured so far
    seconds  double precision NOT NULL,            -- of one episode of a shard
    PRIMARY KEY (scenario, remote)
) WITH (fillfactor = 10);

CREATE TABLE conclusion_pace (
    one     bigint PRIMARY KEY CHECK (one = 1),
    jobs    bigint NOT NULL,                       -- measured so far
    seconds double precision NOT NULL
) WITH (fillfactor = 10);

-- Scenarios that accounts published. A name is not reused: its row stays when the scenario is deleted.
CREATE TABLE community_scenarios (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,  -- account.name
    account      text COLLATE "C" NOT NULL,
    published_at bigint NOT NULL,                  -- of its highest version, as all that follows
    card         text NOT NULL,                    -- JSON: ScenarioCard
    name         text COLLATE "C" NOT NULL,        -- in lower case, for sorting
    tags         text[] NOT NULL,
    words        text NOT NULL,                    -- in lower case, for searching
    deleted_at   bigint
);

CREATE INDEX community_listed ON community_scenarios (published_at, id) WHERE deleted_at IS NULL;

CREATE TABLE community_versions (
    id           text COLLATE "C" NOT NULL REFERENCES community_scenarios (id),
    version      text COLLATE "C" NOT NULL,
    account      text COLLATE "C" NOT NULL,
    digest       text COLLATE "C" NOT NULL,        -- names its files in the data folder
    published_at bigint NOT NULL,
    PRIMARY KEY (id, version)
);

CREATE INDEX community_published ON community_versions (account, published_at);

CREATE TABLE publishing_failures (
    account text COLLATE "C" NOT NULL,
    at      bigint NOT NULL
);

CREATE INDEX publishing_failures_of ON publishing_failures (account, at);

-- Versions of scenarios that the installation had: their files are kept for the jobs and seasons of an older version.
CREATE TABLE installed_versions (
    digest  text COLLATE "C" NOT NULL PRIMARY KEY, -- over the files of the scenario and its robots
    id      text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    kept_at bigint NOT NULL
);

CREATE TABLE webhook_secrets (
    account        text COLLATE "C" NOT NULL PRIMARY KEY,
    secret         text NOT NULL,
    created_at     bigint NOT NULL,
    previous       text,                           -- signs beside the new one for a while
    previous_until bigint,
    CHECK ((previous IS NULL) = (previous_until IS NULL))
);

CREATE TABLE webhook_deliveries (
    job_id   uuid NOT NULL PRIMARY KEY REFERENCES jobs (job_id),
    account  text COLLATE "C" NOT NULL,
    url      text NOT NULL,
    state    text NOT NULL CHECK (state IN ('PENDING', 'DELIVERED', 'GIVEN_UP')),
    due_at   bigint NOT NULL,                      -- time of the next attempt; moved ahead during an attempt
    attempts bigint NOT NULL DEFAULT 0,
    first_at bigint,                               -- time of the first attempt
    log      text NOT NULL DEFAULT '[]'            -- JSON: the last attempts, oldest first
);

CREATE INDEX webhooks_pending ON webhook_deliveries (due_at) WHERE state = 'PENDING';
CREATE INDEX webhooks_by_account ON webhook_deliveries (account, job_id);

-- Models: files that an account uploads in parts, once, for the policies that name them by their digest.
CREATE TABLE models (
    account        text COLLATE "C" NOT NULL,
    sha256         text COLLATE "C" NOT NULL,
    size_bytes     bigint NOT NULL,                -- counts from the announcement on
    name           text,
    upload_id      uuid NOT NULL UNIQUE,
    received_bytes bigint NOT NULL DEFAULT 0,      -- durable on the disk
    created_at     bigint NOT NULL,
    expires_at     bigint,                         -- of an unfinished upload
    completed_at   bigint,
    PRIMARY KEY (account, sha256),
    CHECK ((expires_at IS NULL) <> (completed_at IS NULL))
);

CREATE INDEX models_unfinished ON models (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX models_by_age ON models (completed_at) WHERE completed_at IS NOT NULL;

-- The models that each job uses.
CREATE TABLE job_models (
    account text COLLATE "C" NOT NULL,
    sha256  text COLLATE "C" NOT NULL,
    job_id  uuid NOT NULL REFERENCES jobs (job_id),
    PRIMARY KEY (account, sha256, job_id)
);

-- Workers on other hosts. A token is stored as its hash; whoever presents it is the worker.
CREATE TABLE workers (
    name         text COLLATE "C" NOT NULL PRIMARY KEY,
    token_hash   bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    trusted      boolean NOT NULL,                 -- may run secret worlds
    created_at   bigint NOT NULL,
    expires_at   bigint,
    state        text NOT NULL CHECK (state IN ('ACTIVE', 'DRAINING', 'REVOKED', 'QUARANTINED')),
    reason       text,                             -- of its quarantine
    state_since  bigint NOT NULL,
    generation   bigint NOT NULL DEFAULT 0,        -- counts registrations
    registration text,                             -- JSON: WorkerRegistration; null before the first
    seen_at      bigint
);
