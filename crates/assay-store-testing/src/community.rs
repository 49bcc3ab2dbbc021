//! Scenarios that accounts publish: versions are permanent, and names are never reused.

use assay_model::{ScenarioCard, ScenarioId, Sha256Digest};
use assay_store::{
    CommunityFilter, CommunitySort, InstalledVersion, NewVersion, PublishOutcome, PublishingFailures, Records,
};

use super::fixtures::{at, job};

const MANY: u32 = 100;

fn version(account: &str, name: &str, version: &str, second: i64) -> NewVersion {
    let id: ScenarioId = format!("{account}.{name}").parse().unwrap();
    NewVersion {
        account: account.parse().unwrap(),
        card: ScenarioCard {
            name: format!("The {name}"),
            description: "Something to do.".into(),
            difficulty: 2,
            time_limit: 10,
            max_score: 1000,
            long_description: "# A story".into(),
            version: version.into(),
            digest: Sha256Digest::of(format!("{name}-{version}")),
            max_violation_probability: 0.1,
            replan_steps: None,
            archive_mib: None,
            render_profile: None,
            drawn_ranges: None,
            arena_episodes: 20,
            idle_progress: 0.0,
            id,
        },
        tags: vec!["arm".into(), name.into()],
        published_at: at(second),
    }
}

async fn ids(records: &dyn Records, filter: CommunityFilter) -> Vec<String> {
    let (found, total) = records.community_scenarios(&CommunityFilter { limit: 10, ..filter }).await.unwrap();
    assert!(total >= found.len() as u64);
    found.into_iter().map(|scenario| scenario.card.id.to_string()).collect()
}

pub(super) async fn versions_stay_what_they_are(records: &dyn Records) {
    let first = version("lab", "reach", "1.0.0", 0);
    assert_eq!(records.publish_scenario(first.clone(), MANY).await.unwrap(), PublishOutcome::Done);
    let mut again = version("lab", "reach", "1.0.0", 1);
    again.card.digest = Sha256Digest::of("other");
    assert_eq!(records.publish_scenario(again, MANY).await.unwrap(), PublishOutcome::VersionExists);
    let id = first.card.id.clone();
    let found = records.community_scenario(&id).await.unwrap().unwrap();
    assert_eq!((&found.card, &found.tags, found.published_at), (&first.card, &first.tags, at(0)));
    assert_eq!(records.check_publishable(&id, "2.0.0", at(2), MANY).await.unwrap(), PublishOutcome::Done);
    let second = version("lab", "reach", "2.0.0", 2);
    assert_eq!(records.publish_scenario(second.clone(), MANY).await.unwrap(), PublishOutcome::Done);
    assert_eq!(records.community_scenario(&id).await.unwrap().unwrap().card, second.card);
    let versions: Vec<_> =
        records.community_versions(&id).await.unwrap().into_iter().map(|v| (v.version, v.digest)).collect();
    assert_eq!(versions, [("2.0.0".into(), second.card.digest), ("1.0.0".into(), first.card.digest)]);
    assert_eq!(ids(records, CommunityFilter::default()).await, ["lab.reach"], "one entry a scenario");
}

pub(super) async fn the_highest_version_counts(records: &dyn Records) {
    let id = version("lab", "reach", "1", 0).card.id;
    for (index, (published, expected)) in [
        ("2026-11", "2026-11"),
        ("2026-10", "2026-10"),
        ("1.2.0", "1.2.0"),
        ("2027-01", "1.2.0"),
        ("1.10.0", "1.10.0"),
        ("1.3.0", "1.10.0"),
        ("2.0.0-rc.1", "2.0.0-rc.1"),
        ("2.0.0", "2.0.0"),
        ("2.0.0-rc.2", "2.0.0"),
    ]
    .into_iter()
    .enumerate()
    {
        let new = version("lab", "reach", published, i64::try_from(index).unwrap());
        assert_eq!(records.publish_scenario(new.clone(), MANY).await.unwrap(), PublishOutcome::Done);
        let found = records.community_scenario(&id).await.unwrap().unwrap();
        assert_eq!(found.card.version, expected, "after {published}");
        assert_eq!(found.published_at == new.published_at, published == expected, "after {published}");
    }
    assert_eq!(records.community_versions(&id).await.unwrap().len(), 9);
}

pub(super) async fn deleted_names_are_not_given_again(records: &dyn Records) {
    let first = version("lab", "reach", "1.0.0", 0);
    let id = first.card.id.clone();
    records.publish_scenario(first, MANY).await.unwrap();
    let stranger = "other".parse().unwrap();
    assert!(!records.delete_scenario(Some(&stranger), &id, at(1)).await.unwrap());
    let owner = "lab".parse().unwrap();
    for second in [2, 3] {
        assert!(records.delete_scenario(Some(&owner), &id, at(second)).await.unwrap());
    }
    let found = records.community_scenario(&id).await.unwrap().unwrap();
    assert_eq!(found.deleted_at, Some(at(2)));
    assert!(ids(records, CommunityFilter::default()).await.is_empty());
    assert_eq!(records.check_publishable(&id, "2.0.0", at(4), MANY).await.unwrap(), PublishOutcome::Reserved);
    let next = version("lab", "reach", "2.0.0", 4);
    assert_eq!(records.publish_scenario(next, MANY).await.unwrap(), PublishOutcome::Reserved);
    let installed = InstalledVersion {
        digest: Sha256Digest::of("installed"),
        id: "tabletop_reach".parse().unwrap(),
        version: "1.0.0".to_owned(),
        kept_at: at(4),
    };
    for _ in 0..2 {
        records.record_installed_version(&installed).await.unwrap();
    }
    let mut kept = [installed.digest, Sha256Digest::of("reach-1.0.0")];
    kept.sort();
    assert_eq!(records.scenario_digests().await.unwrap(), kept, "what reports speak of stays");
    let unknown = "lab.nothing".parse().unwrap();
    assert!(!records.delete_scenario(None, &unknown, at(5)).await.unwrap());
    assert_eq!(records.community_scenario(&unknown).await.unwrap(), None);
}

pub(super) async fn are_counted_by_the_day(records: &dyn Records) {
    let day = 24 * 3600;
    for (index, second) in [0, 1].into_iter().enumerate() {
        let new = version("lab", "reach", &format!("{index}"), second);
        assert_eq!(records.publish_scenario(new, 2).await.unwrap(), PublishOutcome::Done);
    }
    let third = |second| version("lab", "reach", "third", second);
    let too_many = PublishOutcome::TooMany { frees_at: Some(at(day)) };
    assert_eq!(records.publish_scenario(third(day - 1), 2).await.unwrap(), too_many);
    let id = third(0).card.id;
    assert_eq!(records.check_publishable(&id, "third", at(day - 1), 2).await.unwrap(), too_many);
    let later = PublishOutcome::TooMany { frees_at: Some(at(day + 1)) };
    assert_eq!(
        records.check_publishable(&id, "third", at(day - 1), 1).await.unwrap(),
        later,
        "both have to be a day old"
    );
    let none = PublishOutcome::TooMany { frees_at: None };
    assert_eq!(records.check_publishable(&id, "third", at(9 * day), 0).await.unwrap(), none, "no account may publish");
    assert_eq!(records.publish_scenario(version("other", "reach", "1", 2), 2).await.unwrap(), PublishOutcome::Done);
    assert_eq!(records.publish_scenario(third(day), 2).await.unwrap(), PublishOutcome::Done);
}

pub(super) async fn failures_are_counted_by_the_day(records: &dyn Records) {
    let (lab, other) = ("lab".parse().unwrap(), "other".parse().unwrap());
    let day = 24 * 3600;
    for second in [0, 10, 10] {
        records.note_publishing_failure(&lab, at(second)).await.unwrap();
    }
    for (now, count, frees_at) in
        [(10, 3, Some(day)), (day - 1, 3, Some(day)), (day, 2, Some(day + 10)), (day + 10, 0, None)]
    {
        let failures = records.publishing_failures(&lab, at(now)).await.unwrap();
        assert_eq!(failures, PublishingFailures { count, frees_at: frees_at.map(at) }, "{now}");
    }
    assert_eq!(records.publishing_failures(&other, at(10)).await.unwrap().count, 0);
    records.note_publishing_failure(&lab, at(day + 5)).await.unwrap();
    assert_eq!(records.publishing_failures(&lab, at(day + 5)).await.unwrap().count, 3);
}

pub(super) async fn are_found(records: &dyn Records) {
    for (account, name, second) in [("lab", "reach", 0), ("lab", "stack", 2), ("other", "reach", 1)] {
        records.publish_scenario(version(account, name, "1", second), MANY).await.unwrap();
    }
    for number in 0..2 {
        let mut new = job(number, "lab", 1, 1);
        new.header.scenario = "other.reach".parse().unwrap();
        records.create_job(new).await.unwrap();
    }
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let sorted = |sort| CommunityFilter { sort, ..Default::default() };
    let cases: [(CommunityFilter, &[&str]); 11] = [
        (sorted(CommunitySort::Newest), &["lab.stack", "other.reach", "lab.reach"]),
        (sorted(CommunitySort::Evaluations), &["other.reach", "lab.stack", "lab.reach"]),
        (sorted(CommunitySort::Name), &["lab.reach", "other.reach", "lab.stack"]),
        (CommunityFilter { words: words("reach"), ..Default::default() }, &["other.reach", "lab.reach"]),
        (CommunityFilter { words: words("the lab something"), ..Default::default() }, &["lab.stack", "lab.reach"]),
        (CommunityFilter { words: words("reach stack"), ..Default::default() }, &[]),
        (CommunityFilter { tag: Some("stack".into()), ..Default::default() }, &["lab.stack"]),
        (CommunityFilter { tag: Some("sta".into()), ..Default::default() }, &[]),
        (CommunityFilter { author: Some("other".into()), ..Default::default() }, &["other.reach"]),
        (
            CommunityFilter { before: Some("lab.stack".parse().unwrap()), ..Default::default() },
            &["other.reach", "lab.reach"],
        ),
        (CommunityFilter { offset: 2, ..Default::default() }, &["lab.reach"]),
    ];
    for (filter, wanted) in cases {
        let shown = format!("{filter:?}");
        assert_eq!(ids(records, filter).await, wanted, "{shown}");
    }
    let (page, total) = records.community_scenarios(&CommunityFilter { limit: 1, ..Default::default() }).await.unwrap();
    assert_eq!((page.len(), total), (1, 3));
    let used = records.community_scenario(&"other.reach".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(used.evaluations, 2);
}
