-- Scenarios that were looked at and not published: an account's are counted over a day.

CREATE TABLE publishing_failures (
    account TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE INDEX publishing_failures_of ON publishing_failures (account, at);
