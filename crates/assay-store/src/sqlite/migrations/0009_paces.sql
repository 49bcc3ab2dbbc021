-- How long episodes take here, so that who waits can be told how long. `since` is when a shard was taken, or its last
-- result recorded.

ALTER TABLE shards ADD COLUMN since INTEGER;

CREATE TABLE paces (
    scenario TEXT NOT NULL,
    remote   INTEGER NOT NULL,
    episodes INTEGER NOT NULL,                     -- measured so far
    seconds  REAL NOT NULL,                        -- of one episode of a shard: the last ones count most
    PRIMARY KEY (scenario, remote)
) STRICT, WITHOUT ROWID;
