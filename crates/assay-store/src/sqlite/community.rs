//! The tables of published and of installed scenarios.

use assay_model::{AccountId, ScenarioId, Sha256Digest};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::failure::SqlResult;
use super::row::{all, change, first, json, micros, parsed, time, time_or_null, to_json, value};
use crate::community::version_rank;
use crate::{
    CommunityFilter, CommunityRecords, CommunityScenario, CommunitySort, CommunityVersion, InstalledVersion,
    NewVersion, PublishOutcome, PublishingFailures, StoreError,
};

const COLUMNS: &str = "id, account, published_at, card, tags, deleted_at, \
                       (SELECT count(*) FROM jobs WHERE jobs.scenario = community_scenarios.id) AS evaluations";
/// Period over which an account's versions are counted.
const DAY: SignedDuration = SignedDuration::from_hours(24);

#[async_trait]
impl CommunityRecords for SqliteRecords {
    async fn publish_scenario(&self, new: NewVersion, max_a_day: u32) -> Result<PublishOutcome, StoreError> {
        self.write("publishing a scenario", move |db| publish(db, &new, max_a_day)).await
    }

    async fn check_publishable(
        &self,
        id: &ScenarioId,
        version: &str,
        now: Timestamp,
        max_a_day: u32,
    ) -> Result<PublishOutcome, StoreError> {
        let account = id.as_str().split_once('.').map_or(id.as_str(), |(account, _)| account);
        self.read("looking for a scenario's name", |db| may_publish(db, (account, id, version), now, max_a_day))
    }

    async fn note_publishing_failure(&self, account: &AccountId, now: Timestamp) -> Result<(), StoreError> {
        let account = account.clone();
        self.write("noting a scenario that was not published", move |db| {
            let sql = "DELETE FROM publishing_failures WHERE account = ?1 AND at <= ?2";
            change(db, sql, (account.as_str(), day_before(now)))?;
            let sql = "INSERT INTO publishing_failures (account, at) VALUES (?1, ?2)";
            change(db, sql, (account.as_str(), micros(now))).map(drop)
        })
        .await
    }

    async fn publishing_failures(&self, account: &AccountId, now: Timestamp) -> Result<PublishingFailures, StoreError> {
        let sql = "SELECT account, count(*) AS number, min(at) AS first FROM publishing_failures
                   WHERE account = ?1 AND at > ?2";
        let found = self.read("counting scenarios that were not published", |db| {
            first(db, sql, (account.as_str(), day_before(now)), |row| {
                Ok((row.get("number")?, time_or_null(row, "first")?))
            })
        })?;
        let (count, oldest): (u32, Option<Timestamp>) = found.unwrap_or_default();
        Ok(PublishingFailures { count, frees_at: oldest.map(|at| at.saturating_add(DAY).unwrap_or(Timestamp::MAX)) })
    }

    async fn community_scenario(&self, id: &ScenarioId) -> Result<Option<CommunityScenario>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM community_scenarios WHERE id = ?1");
        self.read("reading a scenario", |db| first(db, &sql, [id.as_str()], read))
    }

    async fn community_versions(&self, id: &ScenarioId) -> Result<Vec<CommunityVersion>, StoreError> {
        let sql = "SELECT id, version, digest, published_at FROM community_versions WHERE id = ?1
                   ORDER BY published_at DESC, version DESC";
        self.read("reading a scenario's versions", |db| {
            all(db, sql, [id.as_str()], |row| {
                let (version, digest) = (row.get("version")?, parsed(row, "digest")?);
                Ok(CommunityVersion { version, digest, published_at: time(row, "published_at")? })
            })
        })
    }

    async fn community_scenarios(&self, filter: &CommunityFilter) -> Result<(Vec<CommunityScenario>, u64), StoreError> {
        self.read("listing scenarios", |db| list(db, filter))
    }

    async fn delete_scenario(
        &self,
        account: Option<&AccountId>,
        id: &ScenarioId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (account, id) = (account.cloned(), id.clone());
        let sql = "UPDATE community_scenarios SET deleted_at = coalesce(deleted_at, ?3)
                   WHERE id = ?1 AND (?2 IS NULL OR account = ?2)";
        self.write("deleting a scenario", move |db| {
            Ok(change(db, sql, (id.as_str(), account.as_ref().map(AccountId::as_str), micros(now)))? == 1)
        })
        .await
    }

    async fn record_installed_version(&self, version: &InstalledVersion) -> Result<(), StoreError> {
        let version = version.clone();
        self.write("keeping an installed scenario", move |db| {
            let sql = "INSERT INTO installed_versions (digest, id, version, kept_at) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT DO NOTHING";
            let InstalledVersion { digest, id, version, kept_at } = &version;
            db.execute(sql, (digest.to_string(), id.as_str(), version, micros(*kept_at)))?;
            Ok(())
        })
        .await
    }

    async fn scenario_digests(&self) -> Result<Vec<Sha256Digest>, StoreError> {
        let sql = "SELECT digest FROM community_versions UNION SELECT digest FROM installed_versions";
        self.read("reading digests", |db| all(db, sql, [], |row| parsed(row, "digest")))
    }
}

/// Returns the time one day before `now`, as stored.
fn day_before(now: Timestamp) -> i64 {
    now.saturating_sub(DAY).map_or(i64::MIN, micros)
}

fn may_publish(
    db: &Connection,
    (account, id, version): (&str, &ScenarioId, &str),
    now: Timestamp,
    max_a_day: u32,
) -> SqlResult<PublishOutcome> {
    let deleted = "SELECT EXISTS (SELECT 1 FROM community_scenarios WHERE id = ?1 AND deleted_at IS NOT NULL)";
    if value(db, deleted, [id.as_str()])? {
        return Ok(PublishOutcome::Reserved);
    }
    let known = "SELECT EXISTS (SELECT 1 FROM community_versions WHERE id = ?1 AND version = ?2)";
    if value(db, known, [id.as_str(), version])? {
        return Ok(PublishOutcome::VersionExists);
    }
    let Some(others) = max_a_day.checked_sub(1) else { return Ok(PublishOutcome::TooMany { frees_at: None }) };
    // One more version is allowed once all but the last `others` are a day old.
    let recent = "SELECT id, published_at FROM community_versions WHERE account = ?1 AND published_at > ?2
                  ORDER BY published_at DESC LIMIT 1 OFFSET ?3";
    let filling = first(db, recent, (account, day_before(now), others), |row| time(row, "published_at"))?;
    let frees_at = |at: Timestamp| at.saturating_add(DAY).unwrap_or(Timestamp::MAX);
    Ok(filling.map_or(PublishOutcome::Done, |at| PublishOutcome::TooMany { frees_at: Some(frees_at(at)) }))
}

fn publish(db: &Connection, new: &NewVersion, max_a_day: u32) -> SqlResult<PublishOutcome> {
    let card = &new.card;
    let (id, now) = (card.id.as_str(), micros(new.published_at));
    let may = may_publish(db, (new.account.as_str(), &card.id, &card.version), new.published_at, max_a_day)?;
    if may != PublishOutcome::Done {
        return Ok(may);
    }
    let words = [id, &card.name, &card.description, &new.tags.join(" ")].join("\n").to_lowercase();
    if is_highest(db, id, (&card.version, now))? {
        let sql = "INSERT INTO community_scenarios (id, account, published_at, card, tags, words)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                   ON CONFLICT (id) DO UPDATE SET published_at = ?3, card = ?4, tags = ?5, words = ?6";
        change(db, sql, (id, new.account.as_str(), now, to_json(card)?, to_json(&new.tags)?, words))?;
    }
    let sql = "INSERT INTO community_versions (id, version, account, digest, published_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    change(db, sql, (id, &card.version, new.account.as_str(), card.digest.to_string(), now))?;
    Ok(PublishOutcome::Done)
}

/// Returns whether a new version is higher than all existing ones.
fn is_highest(db: &Connection, id: &str, (version, published_at): (&str, i64)) -> SqlResult<bool> {
    let sql = "SELECT version, published_at FROM community_versions WHERE id = ?1";
    let known = all(db, sql, [id], |row| Ok((row.get::<_, String>("version")?, row.get::<_, i64>("published_at")?)))?;
    let new = version_rank(version, published_at);
    Ok(known.iter().all(|(version, published_at)| version_rank(version, *published_at) <= new))
}

fn list(db: &Connection, filter: &CommunityFilter) -> SqlResult<(Vec<CommunityScenario>, u64)> {
    let matching = "deleted_at IS NULL AND (?1 IS NULL OR account = ?1)
         AND (?2 IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) AS tag WHERE tag.value = ?2))
         AND NOT EXISTS (SELECT 1 FROM json_each(?3) AS word WHERE instr(words, word.value) = 0)";
    let order = match filter.sort {
        CommunitySort::Newest => "published_at DESC, id",
        CommunitySort::Evaluations => "evaluations DESC, published_at DESC, id",
        CommunitySort::Name => "json_extract(card, '$.name') COLLATE NOCASE, id",
    };
    let page = format!(
        "SELECT {COLUMNS} FROM community_scenarios WHERE {matching}
         AND (?4 IS NULL OR (-published_at, id) > (SELECT -published_at, id FROM community_scenarios WHERE id = ?4))
         ORDER BY {order} LIMIT ?5 OFFSET ?6"
    );
    let words = to_json(&filter.words)?;
    let before = filter.before.as_ref().map(ScenarioId::as_str);
    let found = all(db, &page, (&filter.author, &filter.tag, &words, before, filter.limit, filter.offset), read)?;
    let count = format!("SELECT count(*) FROM community_scenarios WHERE {matching}");
    let total: i64 = value(db, &count, (&filter.author, &filter.tag, &words))?;
    Ok((found, total.unsigned_abs()))
}

fn read(row: &Row<'_>) -> SqlResult<CommunityScenario> {
    Ok(CommunityScenario {
        account: parsed(row, "account")?,
        card: json(row, "card")?,
        tags: json(row, "tags")?,
        published_at: time(row, "published_at")?,
        evaluations: row.get::<_, i64>("evaluations")?.unsigned_abs(),
        deleted_at: time_or_null(row, "deleted_at")?,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn an_invalid_digest_is_a_corrupt_row() {
        let folder = tempfile::tempdir().unwrap();
        let records = SqliteRecords::open(folder.path(), "a test").unwrap();
        let sql = "INSERT INTO installed_versions (digest, id, version, kept_at) VALUES ('5F', 'reach', '1.0.0', 0)";
        records.write("a test", |db| Ok(db.execute(sql, [])?)).await.unwrap();
        let error = records.scenario_digests().await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { column: "digest", .. }), "{error}");
    }
}
