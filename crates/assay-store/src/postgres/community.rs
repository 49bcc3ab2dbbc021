//! The tables of published and of installed scenarios.

use assay_model::{AccountId, ScenarioId, Sha256Digest};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{
    Parameter, all, change, count, field, first, json, micros, number, parsed, storable, time, time_or_null, to_json,
    value,
};
use super::session::PgSession;
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
impl CommunityRecords for PostgresRecords {
    async fn publish_scenario(&self, new: NewVersion, max_a_day: u32) -> Result<PublishOutcome, StoreError> {
        self.engine.write("publishing a scenario", |db| publish(db, &new, max_a_day)).await
    }

    async fn check_publishable(
        &self,
        id: &ScenarioId,
        version: &str,
        now: Timestamp,
        max_a_day: u32,
    ) -> Result<PublishOutcome, StoreError> {
        let account = id.as_str().split_once('.').map_or(id.as_str(), |(account, _)| account);
        let checking = "looking for a scenario's name";
        self.engine
            .read(checking, |db| async move { may_publish(&db, (account, id, version), now, max_a_day).await })
            .await
    }

    async fn note_publishing_failure(&self, account: &AccountId, now: Timestamp) -> Result<(), StoreError> {
        self.engine.write("noting a scenario that was not published", |db| note_failure(db, account, now)).await
    }

    async fn publishing_failures(&self, account: &AccountId, now: Timestamp) -> Result<PublishingFailures, StoreError> {
        self.engine.query("counting scenarios that were not published", |db| failures(db, account, now)).await
    }

    async fn community_scenario(&self, id: &ScenarioId) -> Result<Option<CommunityScenario>, StoreError> {
        self.engine.query("reading a scenario", |db| get(db, id)).await
    }

    async fn community_versions(&self, id: &ScenarioId) -> Result<Vec<CommunityVersion>, StoreError> {
        self.engine.query("reading a scenario's versions", |db| versions(db, id)).await
    }

    async fn community_scenarios(&self, filter: &CommunityFilter) -> Result<(Vec<CommunityScenario>, u64), StoreError> {
        self.engine.read("listing scenarios", |db| list(db, filter)).await
    }

    async fn delete_scenario(
        &self,
        account: Option<&AccountId>,
        id: &ScenarioId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.engine.write("deleting a scenario", |db| delete(db, account, id, now)).await
    }

    async fn record_installed_version(&self, version: &InstalledVersion) -> Result<(), StoreError> {
        self.engine.write("keeping an installed scenario", |db| keep_installed(db, version)).await
    }

    async fn scenario_digests(&self) -> Result<Vec<Sha256Digest>, StoreError> {
        self.engine.query("reading digests", digests).await
    }
}

/// Returns the time one day before `now`, as stored.
fn day_before(now: Timestamp) -> i64 {
    now.saturating_sub(DAY).map_or(i64::MIN, micros)
}

async fn note_failure(db: PgSession, account: &AccountId, now: Timestamp) -> PgResult<()> {
    let sql = "DELETE FROM publishing_failures WHERE account = $1 AND at <= $2";
    change(&db, sql, &[&account.as_str(), &day_before(now)]).await?;
    let sql = "INSERT INTO publishing_failures (account, at) VALUES ($1, $2)";
    change(&db, sql, &[&account.as_str(), &micros(now)]).await.map(drop)
}

async fn failures(db: PgSession, account: &AccountId, now: Timestamp) -> PgResult<PublishingFailures> {
    let sql = "SELECT count(*) AS number, min(at) AS first FROM publishing_failures WHERE account = $1 AND at > $2";
    let found = first(&db, sql, &[&account.as_str(), &day_before(now)], |row| {
        Ok((number(row, "number")?, time_or_null(row, "first")?))
    })
    .await;
    let (count, oldest): (u32, Option<Timestamp>) = found?.unwrap_or_default();
    Ok(PublishingFailures { count, frees_at: oldest.map(|at| at.saturating_add(DAY).unwrap_or(Timestamp::MAX)) })
}

async fn get(db: PgSession, id: &ScenarioId) -> PgResult<Option<CommunityScenario>> {
    first(&db, &format!("SELECT {COLUMNS} FROM community_scenarios WHERE id = $1"), &[&id.as_str()], read).await
}

async fn versions(db: PgSession, id: &ScenarioId) -> PgResult<Vec<CommunityVersion>> {
    let sql = "SELECT id, version, digest, published_at FROM community_versions WHERE id = $1
               ORDER BY published_at DESC, version DESC";
    all(&db, sql, &[&id.as_str()], |row| {
        let (version, digest) = (field(row, "version")?, parsed(row, "digest")?);
        Ok(CommunityVersion { version, digest, published_at: time(row, "published_at")? })
    })
    .await
}

async fn delete(db: PgSession, account: Option<&AccountId>, id: &ScenarioId, now: Timestamp) -> PgResult<bool> {
    let sql = "UPDATE community_scenarios SET deleted_at = coalesce(deleted_at, $3)
               WHERE id = $1 AND ($2::text IS NULL OR account = $2)";
    Ok(change(&db, sql, &[&id.as_str(), &account.map(AccountId::as_str), &micros(now)]).await? == 1)
}

async fn keep_installed(db: PgSession, version: &InstalledVersion) -> PgResult<()> {
    let sql = "INSERT INTO installed_versions (digest, id, version, kept_at) VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    let InstalledVersion { digest, id, version, kept_at } = version;
    change(&db, sql, &[&digest.to_string(), &id.as_str(), version, &micros(*kept_at)]).await.map(drop)
}

async fn digests(db: PgSession) -> PgResult<Vec<Sha256Digest>> {
    let sql = "SELECT digest FROM community_versions UNION SELECT digest FROM installed_versions
               ORDER BY digest";
    all(&db, sql, &[], |row| parsed(row, "digest")).await
}

async fn may_publish(
    db: &PgSession,
    (account, id, version): (&str, &ScenarioId, &str),
    now: Timestamp,
    max_a_day: u32,
) -> PgResult<PublishOutcome> {
    let deleted = "SELECT EXISTS (SELECT 1 FROM community_scenarios WHERE id = $1 AND deleted_at IS NOT NULL)";
    if value(db, deleted, &[&id.as_str()]).await? {
        return Ok(PublishOutcome::Reserved);
    }
    let known = "SELECT EXISTS (SELECT 1 FROM community_versions WHERE id = $1 AND version = $2)";
    if value(db, known, &[&id.as_str(), &version]).await? {
        return Ok(PublishOutcome::VersionExists);
    }
    let Some(others) = max_a_day.checked_sub(1) else { return Ok(PublishOutcome::TooMany { frees_at: None }) };
    // One more version is allowed once all but the last `others` are a day old.
    let recent = "SELECT id, published_at FROM community_versions WHERE account = $1 AND published_at > $2
                  ORDER BY published_at DESC LIMIT 1 OFFSET $3";
    let filling =
        first(db, recent, &[&account, &day_before(now), &i64::from(others)], |row| time(row, "published_at")).await;
    let frees_at = |at: Timestamp| at.saturating_add(DAY).unwrap_or(Timestamp::MAX);
    Ok(filling?.map_or(PublishOutcome::Done, |at| PublishOutcome::TooMany { frees_at: Some(frees_at(at)) }))
}

async fn publish(db: PgSession, new: &NewVersion, max_a_day: u32) -> PgResult<PublishOutcome> {
    let card = &new.card;
    let (id, now) = (card.id.as_str(), micros(new.published_at));
    // Publications and deletions are rare, and follow each other.
    db.batch("LOCK TABLE community_scenarios, community_versions IN SHARE ROW EXCLUSIVE MODE").await?;
    let may = may_publish(&db, (new.account.as_str(), &card.id, &card.version), new.published_at, max_a_day).await?;
    if may != PublishOutcome::Done {
        return Ok(may);
    }
    if is_highest(&db, id, (&card.version, now)).await? {
        let sql = "INSERT INTO community_scenarios (id, account, published_at, card, name, tags, words)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)
                   ON CONFLICT (id) DO UPDATE SET published_at = excluded.published_at, card = excluded.card,
                                                  name = excluded.name, tags = excluded.tags, words = excluded.words";
        let words = [id, &card.name, &card.description, &new.tags.join(" ")].join("\n").to_lowercase();
        let (name, words) = (storable(&card.name).to_ascii_lowercase(), storable(&words));
        let tags: Vec<_> = new.tags.iter().map(|tag| storable(tag)).collect();
        let values: [Parameter<'_>; 7] = [&id, &new.account.as_str(), &now, &to_json(card)?, &name, &tags, &words];
        change(&db, sql, &values).await?;
    }
    let sql = "INSERT INTO community_versions (id, version, account, digest, published_at) VALUES ($1, $2, $3, $4, $5)";
    change(&db, sql, &[&id, &card.version, &new.account.as_str(), &card.digest.to_string(), &now]).await?;
    Ok(PublishOutcome::Done)
}

/// Returns whether a new version is higher than all existing ones.
async fn is_highest(db: &PgSession, id: &str, (version, published_at): (&str, i64)) -> PgResult<bool> {
    let sql = "SELECT version, published_at FROM community_versions WHERE id = $1";
    let known =
        all(db, sql, &[&id], |row| Ok((field::<String>(row, "version")?, field::<i64>(row, "published_at")?))).await;
    let new = version_rank(version, published_at);
    Ok(known?.iter().all(|(version, published_at)| version_rank(version, *published_at) <= new))
}

async fn list(db: PgSession, filter: &CommunityFilter) -> PgResult<(Vec<CommunityScenario>, u64)> {
    let matching = "deleted_at IS NULL AND ($1::text IS NULL OR account = $1) AND ($2::text IS NULL OR $2 = ANY(tags))
         AND NOT EXISTS (SELECT 1 FROM unnest($3::text[]) AS word WHERE strpos(words, word) = 0)";
    let order = match filter.sort {
        CommunitySort::Newest => "published_at DESC, id",
        CommunitySort::Evaluations => "evaluations DESC, published_at DESC, id",
        CommunitySort::Name => "name, id",
    };
    let page = format!(
        "SELECT {COLUMNS} FROM community_scenarios WHERE {matching}
         AND ($4::text IS NULL OR (-published_at, id) > (SELECT -published_at, id FROM community_scenarios WHERE id = $4))
         ORDER BY {order} LIMIT $5 OFFSET $6"
    );
    let before = filter.before.as_ref().map(ScenarioId::as_str);
    let (limit, offset) = (i64::from(filter.limit), i64::from(filter.offset));
    let values: [Parameter<'_>; 6] = [&filter.author, &filter.tag, &filter.words, &before, &limit, &offset];
    let found = all(&db, &page, &values, read).await?;
    let counting = format!("SELECT count(*) FROM community_scenarios WHERE {matching}");
    Ok((found, count(&db, &counting, &values[..3]).await?))
}

fn read(row: &Row) -> PgResult<CommunityScenario> {
    Ok(CommunityScenario {
        account: parsed(row, "account")?,
        card: json(row, "card")?,
        tags: field(row, "tags")?,
        published_at: time(row, "published_at")?,
        evaluations: number(row, "evaluations")?,
        deleted_at: time_or_null(row, "deleted_at")?,
    })
}
