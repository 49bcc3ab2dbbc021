-- Browsers that signed in. `hash` is that of the secret in the cookie; a session is good as long as its key is, at most.

CREATE TABLE sessions (
    hash       BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    key_id     TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_key ON sessions (key_id, created_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);
