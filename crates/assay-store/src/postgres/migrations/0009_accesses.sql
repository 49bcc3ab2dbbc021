-- Accesses of administrators and reviewers to what belongs to other accounts. The keys and things may be gone.

CREATE TABLE accesses (
    moment  bigint NOT NULL,                       -- number of the minute: the same access is recorded once in it
    key_id  text COLLATE "C" NOT NULL,
    action  text COLLATE "C" NOT NULL,
    target  text COLLATE "C" NOT NULL,             -- id of the job, key or scenario
    at      bigint NOT NULL,
    account text COLLATE "C" NOT NULL,             -- of the key
    owner   text COLLATE "C" NOT NULL,
    PRIMARY KEY (moment, key_id, action, target)
);

CREATE INDEX accesses_by_time ON accesses (at);
