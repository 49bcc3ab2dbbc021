-- Scenarios that accounts published. A name is never given again: its row stays when the scenario is deleted.

CREATE TABLE community_scenarios (
    id           TEXT NOT NULL PRIMARY KEY,        -- account.name
    account      TEXT NOT NULL,
    published_at INTEGER NOT NULL,                 -- of its newest version, as all that follows
    card         TEXT NOT NULL,                    -- JSON: ScenarioCard
    tags         TEXT NOT NULL,                    -- JSON: a list of text
    words        TEXT NOT NULL,                    -- in lower case, for searching
    deleted_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX community_listed ON community_scenarios (published_at, id) WHERE deleted_at IS NULL;

CREATE TABLE community_versions (
    id           TEXT NOT NULL REFERENCES community_scenarios (id),
    version      TEXT NOT NULL,
    account      TEXT NOT NULL,
    digest       TEXT NOT NULL,                    -- names its files in the data folder
    published_at INTEGER NOT NULL,
    PRIMARY KEY (id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX community_published ON community_versions (account, published_at);
CREATE INDEX jobs_by_scenario ON jobs (scenario);
