-- Tokens with which the policies of jobs may connect to any server, once each. Not logged: clients request new ones.

CREATE UNLOGGED TABLE connection_tokens (
    job_id     uuid PRIMARY KEY,
    hash       bytea NOT NULL,                     -- SHA-256 of the token
    key_id     text COLLATE "C" NOT NULL,          -- the key that requested it
    session    bytea,                              -- hash of the browser's session, if it was one
    expires_at timestamptz NOT NULL
);
