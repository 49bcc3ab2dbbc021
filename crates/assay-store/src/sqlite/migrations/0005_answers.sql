-- Answers to requests with an idempotency key. The status is null while the request is being done.

CREATE TABLE answers (
    account  TEXT NOT NULL,
    key      TEXT NOT NULL,
    request  BLOB NOT NULL CHECK (length(request) = 32),  -- stands for route and content
    attempt  TEXT NOT NULL,                               -- who does it
    begun_at INTEGER NOT NULL,
    status   INTEGER,
    location TEXT,
    body     BLOB,                                        -- null when it was too long to keep
    PRIMARY KEY (account, key),
    CHECK (status IS NOT NULL OR (location IS NULL AND body IS NULL))
) STRICT;

CREATE INDEX answers_by_age ON answers (begun_at);
CREATE INDEX answers_of_account ON answers (account, begun_at);
