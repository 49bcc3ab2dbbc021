-- Messages to the addresses that clients gave with their jobs, and what these messages are signed with.
CREATE TABLE webhook_secrets (
    account        TEXT PRIMARY KEY,
    secret         TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    previous       TEXT,                           -- signs beside the new one for a while
    previous_until INTEGER,
    CHECK ((previous IS NULL) = (previous_until IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_deliveries (
    job_id       TEXT PRIMARY KEY REFERENCES jobs (job_id),
    account      TEXT NOT NULL,
    url          TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('PENDING', 'DELIVERED', 'GIVEN_UP')),
    due_at       INTEGER NOT NULL,                 -- when it is tried next; moved ahead while somebody tries it
    attempts     INTEGER NOT NULL DEFAULT 0,
    first_at     INTEGER,                          -- when it was first tried
    log          TEXT NOT NULL DEFAULT '[]'        -- JSON: the last attempts, oldest first
) STRICT;                                          -- rows are large: without a row id each comparison of keys would copy one

CREATE INDEX webhooks_pending ON webhook_deliveries (due_at) WHERE state = 'PENDING';
CREATE INDEX webhooks_by_account ON webhook_deliveries (account, job_id);
