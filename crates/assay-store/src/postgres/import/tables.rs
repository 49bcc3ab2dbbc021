//! The tables of the import, and the columns that the two schemas represent differently.

/// A table of the target.
#[derive(Debug)]
pub(super) struct ImportTable {
    pub(super) name: &'static str,
    /// The table of the source.
    pub(super) from: &'static str,
    /// The columns by which both sides are sorted; their order of texts is that of bytes on both.
    pub(super) order: &'static str,
    /// Columns that are derived: their names, and expressions of the source.
    pub(super) derived: &'static [(&'static str, &'static str)],
}

const fn table(name: &'static str, order: &'static str) -> ImportTable {
    ImportTable { name, from: name, order, derived: &[] }
}

/// All tables, each after those that it refers to.
pub(super) const TABLES: &[ImportTable] = &[
    table("keys", "id"),
    table("sessions", "hash"),
    table("accesses", "moment, key_id, action, target"),
    table("answers", "account, key"),
    ImportTable {
        derived: &[
            ("machine", "(SELECT max(machine) FROM shards WHERE shards.job_id = jobs.job_id)"),
            (
                "machine_fingerprint",
                "(SELECT fingerprint FROM machines
                  WHERE digest = (SELECT max(machine) FROM shards WHERE shards.job_id = jobs.job_id))",
            ),
            ("recorded_at", "(SELECT max(recorded_at) FROM episodes WHERE episodes.job_id = jobs.job_id)"),
            ("failed_by_platform", "coalesce(failure ->> 'blame' = 'platform', 0)"),
            ("failure_message", "failure ->> 'message'"),
        ],
        ..table("jobs", "job_id")
    },
    table("shards", "job_id, shard"),
    ImportTable {
        derived: &[("wall_time_s", "CAST(result ->> 'wall_time_s' AS REAL)")],
        ..table("episodes", "job_id, episode")
    },
    table("attempt_notes", "job_id, episode, number"),
    table("reviews", "job_id, number"),
    table("signed", "job_id"),
    table("renders", "job_id, episode"),
    table("events", "job_id, number"),
    table("seasons", "scenario, number"),
    table("choices", "account, scenario, season"),
    table("paces", "scenario, remote"),
    table("conclusion_pace", "one"),
    ImportTable { derived: &[("name", "lower(card ->> 'name')")], ..table("community_scenarios", "id") },
    table("community_versions", "id, version"),
    table("publishing_failures", "account, at"),
    table("installed_versions", "digest"),
    table("webhook_secrets", "account"),
    table("webhook_deliveries", "job_id"),
    table("models", "account, sha256"),
    table("job_models", "account, sha256, job_id"),
    table("workers", "name"),
    table("worker_conduct", "worker, job_id"),
    table("left_shards", "job_id, shard, worker"),
    table("failed_audits", "job_id, episode"),
    table("account_use", "account"),
    table("account_days", "account, day"),
    ImportTable { from: "account_use", ..table("account_turns", "account") },
];

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::{BTreeMap, BTreeSet};

    use assay_testkit::Postgres;

    use super::*;
    use crate::sqlite::RecordsCopy;
    use crate::{PostgresOptions, PostgresRecords, SqliteRecords};

    /// Tables of the source without one of the same name in the target: the fingerprints are those of `jobs`.
    const ONLY_IN_SOURCE: [&str; 1] = ["machines"];
    /// Tables of the target without one of the same name in the source: the messages between its processes, and the
    /// identity of the new records.
    const ONLY_IN_TARGET: [&str; 5] =
        ["connection_tokens", "request_counts", "server_processes", "site", "site_leader"];
    /// Columns of the source that are used in another table or have no meaning there.
    const OTHER_COLUMNS: [(&str, &str); 3] = [
        ("account_use", "turn"), // in account_turns
        ("events", "event"),     // a number over all jobs, which only one writer can give
        ("shards", "machine"),   // in jobs
    ];

    type Columns = BTreeMap<String, BTreeSet<String>>;

    fn columns(pairs: impl IntoIterator<Item = (String, String)>) -> Columns {
        let mut found = Columns::new();
        for (table, column) in pairs {
            found.entry(table).or_default().insert(column);
        }
        found
    }

    fn of_source() -> Columns {
        let data = tempfile::tempdir().unwrap();
        drop(SqliteRecords::open(data.path(), "a test").unwrap());
        let copy = RecordsCopy::open(&data.path().join(RecordsCopy::FILE_NAME)).unwrap();
        let sql =
            "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                   WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'";
        let mut statement = copy.connection().prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        columns(rows.map(Result::unwrap))
    }

    async fn of_target() -> Columns {
        let (server, data) = (Postgres::shared(), tempfile::tempdir().unwrap());
        let url = server.database();
        drop(PostgresRecords::open(&PostgresOptions::new(url.clone()), data.path()).await.unwrap());
        let sql = "SELECT table_name || ' ' || column_name FROM information_schema.columns
                   WHERE table_schema = 'public' AND table_name <> 'assay_schema'";
        let text = server.sql(url.rsplit('/').next().unwrap(), sql);
        columns(text.lines().map(|line| line.split_once(' ').unwrap()).map(|(a, b)| (a.to_owned(), b.to_owned())))
    }

    #[tokio::test]
    async fn every_column_of_both_schemas_is_copied_or_listed() {
        let (source, target) = (of_source(), of_target().await);
        let names: BTreeSet<_> = TABLES.iter().map(|table| table.name.to_owned()).collect();
        let known = names.iter().map(String::as_str).chain(ONLY_IN_TARGET);
        let found: BTreeSet<_> = target.keys().map(String::as_str).collect();
        assert_eq!(known.collect::<BTreeSet<_>>(), found, "a table of the target is not in TABLES, or is gone");
        let mut used: BTreeSet<(String, String)> = BTreeSet::new();
        for table in TABLES {
            for column in &target[table.name] {
                if table.derived.iter().any(|(name, _)| name == column) {
                    assert!(!source[table.from].contains(column), "{}.{column} need not be derived", table.name);
                } else {
                    assert!(source[table.from].contains(column), "{}.{column} has no source", table.name);
                    used.insert((table.from.to_owned(), column.clone()));
                }
            }
        }
        for (table, column) in OTHER_COLUMNS {
            assert!(source[table].contains(column), "{table}.{column} is gone");
            used.insert((table.to_owned(), column.to_owned()));
        }
        for (table, columns) in source.iter().filter(|(name, _)| !ONLY_IN_SOURCE.contains(&name.as_str())) {
            for column in columns {
                let is_used = used.contains(&(table.clone(), column.clone()));
                assert!(is_used, "{table}.{column} of the source is not copied");
            }
        }
    }
}
