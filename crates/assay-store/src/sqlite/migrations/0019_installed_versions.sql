-- Versions of scenarios that the installation had: their files are kept, so that jobs and seasons of an older version can be
-- replayed, drawn and gone on with after an upgrade.
CREATE TABLE installed_versions (
    digest  TEXT NOT NULL PRIMARY KEY,             -- over the files of the scenario and its robots
    id      TEXT NOT NULL,
    version TEXT NOT NULL,
    kept_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
