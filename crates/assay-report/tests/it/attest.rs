//! Tests of signed statements: valid ones are accepted, all others are refused.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_model::{JobReport, PolicyIdentity, Sha256Digest};
use assay_report::attest::{
    AttestError, Envelope, Evidence, PublishedKeys, SigningKey, Statement, check, check_policy, recompute,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::fixtures;

fn key() -> SigningKey {
    SigningKey::from_secret([7; 32])
}

fn published(keys: &[&SigningKey]) -> PublishedKeys {
    let mut published = PublishedKeys::default();
    for (second, key) in (0..).zip(keys) {
        published.promote(&key.public(), jiff::Timestamp::from_second(second).unwrap()).unwrap();
    }
    published
}

fn statement(report: &JobReport) -> Statement {
    let evidence = vec![Evidence::new("report.json", Sha256Digest::new([0xab; 32]))];
    Statement::of(report, Some(0.002), "0.1.0", evidence).unwrap()
}

fn signed(report: &JobReport, key: &SigningKey) -> Vec<u8> {
    let envelope = Envelope::sign(&statement(report).to_bytes().unwrap(), key).unwrap();
    serde_json::to_vec_pretty(&envelope).unwrap()
}

#[test]
fn a_statement_repeats_the_report() {
    let report = fixtures::violated();
    let checked = check(&signed(&report, &key()), &published(&[&key()]), None).unwrap();
    let value: Value = serde_json::from_slice(&checked.statement.to_bytes().unwrap()).unwrap();
    assert_eq!(value["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(value["subject"][0]["digest"]["sha256"], Value::from(report.policy_sha256.unwrap().to_string()));
    let predicate = &value["predicate"];
    assert_eq!((&predicate["verdict"], &predicate["policyIdentity"]), (&"UNSAFE".into(), &"measured".into()));
    assert_eq!((&predicate["measured"]["episodes"], &predicate["measured"]["violations"]), (&3.into(), &1.into()));
    assert_eq!(predicate["engine"]["timestepS"], 0.002);
    assert_eq!((&predicate["seed"], &predicate["policyKey"]), (&7.into(), &"a5".repeat(32).into()));
    assert!(predicate["note"].as_str().unwrap().contains("only recomputation"));
    check_policy(&checked.statement, Sha256Digest::new([0xc3; 32])).unwrap();
    assert!(matches!(check_policy(&checked.statement, Sha256Digest::new([0xc4; 32])), Err(AttestError::Policy { .. })));
}

/// An untrusted statement may contain invalid text instead of a digest: it is read, but matches no file.
#[test]
fn invalid_digests_match_no_file() {
    let good = serde_json::to_value(statement(&fixtures::violated())).unwrap();
    for text in ["", "ab", &"AB".repeat(32)] {
        let mut value = good.clone();
        value["predicate"]["evidence"][0]["sha256"] = text.into();
        value["subject"][0]["digest"]["sha256"] = text.into();
        let envelope = Envelope::sign(&serde_json::to_vec(&value).unwrap(), &key()).unwrap();
        let file = serde_json::to_vec(&envelope).unwrap();
        let read = check(&file, &published(&[&key()]), None).unwrap().statement;
        assert_eq!(
            (read.predicate.evidence[0].sha256, Evidence::of(&read.subject[0]).sha256),
            (None, None),
            "{text:?}"
        );
        let other = check_policy(&read, Sha256Digest::new([0xab; 32]));
        assert!(matches!(other, Err(AttestError::Policy { stated, .. }) if stated == text));
    }
}

#[test]
fn only_trusted_keys_count() {
    let (ours, other) = (key(), SigningKey::from_secret([8; 32]));
    let file = signed(&fixtures::safe(), &ours);
    let id = |key: &SigningKey| key.public().keyid().unwrap();
    assert!(matches!(check(&file, &published(&[&other]), None), Err(AttestError::UnknownSigner { .. })));
    assert!(matches!(check(&file, &PublishedKeys::default(), None), Err(AttestError::UnknownSigner { .. })));
    let both = published(&[&ours, &other]);
    let checked = check(&file, &both, None).unwrap();
    assert_eq!(checked.key.keyid, id(&ours));
    assert!(checked.key.retired_at.is_some(), "what a retired key signed stays signed");
    check(&file, &both, Some(&id(&ours))).unwrap();
    assert!(matches!(check(&file, &both, Some(&id(&other))), Err(AttestError::UnknownSigner { .. })));
    let mut forged = both;
    forged.keys[1].public_key = other.public().to_pem().unwrap();
    assert!(matches!(check(&file, &forged, None), Err(AttestError::Key(_))), "an entry must be what its id says");
}

#[test]
fn a_policy_server_is_always_declared() {
    let mut report = fixtures::safe();
    (report.policy_identity, report.policy_sha256) = (PolicyIdentity::Declared, None);
    let statement = statement(&report);
    assert_eq!(statement.subject[0].name, "report.json");
    assert!(matches!(check_policy(&statement, Sha256Digest::new([0xc3; 32])), Err(AttestError::Declared)));
    assert!(String::from_utf8(statement.to_bytes().unwrap()).unwrap().contains("\"policyIdentity\":\"declared\""));
}

#[test]
fn keys_have_the_format_of_openssl() {
    // Output of `openssl genpkey -algorithm ed25519` for the first secret key of RFC 8032, 7.1.
    let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE \
               KEY-----\n";
    let key = SigningKey::from_pem(pem).unwrap();
    let public = key.public().to_pem().unwrap();
    assert_eq!(
        public,
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
    );
    assert_eq!(SigningKey::from_pem(&key.to_pem().unwrap()).unwrap().public(), key.public());
    assert!(!format!("{key:?}").contains("9d61"), "a secret does not print");
    assert!(SigningKey::from_pem(&public).is_err());
}

/// A report of an earlier version has no `worst`, and the reason names the first violation.
#[test]
fn earlier_reports_verify_as_before() {
    let mut report = fixtures::violated();
    recompute(&report).unwrap();
    (report.worst, report.closest) = (None, None);
    assert!(matches!(recompute(&report), Err(AttestError::Number("the reason"))), "the reason is that of today");
    report.reason = Some(
        "a critical clause was violated in 1 of 3 episodes; first contact_force in episode 1 at 3.42 s (83.1250 N against \
         50 N)"
            .into(),
    );
    for episode in &mut report.episode_details {
        episode.violations.iter_mut().for_each(|v| (v.onset_value, v.peak_s) = (None, None));
        episode.clauses.iter_mut().for_each(|c| (c.title, c.harm) = (None, None));
    }
    recompute(&report).unwrap();
}

#[test]
fn another_event_is_found() {
    for field in ["worst", "closest"] {
        let mut value = serde_json::to_value(fixtures::violated()).unwrap();
        value[field] = value["worst"].clone();
        value[field]["peak"]["time_s"] = 3.42.into();
        let report: JobReport = serde_json::from_value(value).unwrap();
        assert!(matches!(recompute(&report), Err(AttestError::Number(_))), "{field}");
    }
}

#[test]
fn wrong_numbers_are_found() {
    for report in [fixtures::safe(), fixtures::violated(), fixtures::failed(), fixtures::uncertified()] {
        recompute(&report).unwrap();
    }
    type Change = fn(&mut JobReport);
    let changes: [(&str, Change); 6] = [
        ("score", |r| r.score = Some(0.99)),
        ("the verdict", |r| r.verdict = Some(assay_model::Verdict::Safe)),
        ("the statistics", |r| r.statistics.as_mut().unwrap().violations = 0),
        ("quadrants", |r| r.quadrants.as_mut().unwrap().safe_success += 1),
        ("unsafe_time_s", |r| r.unsafe_time_s = Some(0.0)),
        ("sensitivity", |r| r.sensitivity.clear()),
    ];
    for (what, change) in changes {
        let mut report = fixtures::violated();
        change(&mut report);
        assert!(matches!(recompute(&report), Err(AttestError::Number(found)) if found == what), "{what}");
    }
}

proptest! {
    /// Any changed byte of the file is refused, unless readers of JSON or base64 cannot see the change.
    #[test]
    fn any_flipped_byte_is_refused(at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
        let keys = published(&[&key()]);
        let good = signed(&fixtures::violated(), &key());
        let mut bad = good.clone();
        bad[at.index(good.len())] ^= flip;
        // A space may become a line break, and a letter of JSON its escape; nothing else.
        let same = |a: &[u8], b: &[u8]| Envelope::parse(a).ok() == Envelope::parse(b).ok();
        match check(&bad, &keys, None) {
            Ok(_) => prop_assert!(same(&bad, &good), "a changed envelope was accepted"),
            Err(_) => prop_assert!(!same(&bad, &good)),
        }
    }
}
