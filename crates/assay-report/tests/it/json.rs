//! Tests that report.json round-trips.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_model::PolicyErrorCode;
use assay_report::json::{JsonError, parse, render};
use proptest::prelude::*;

use crate::fixtures;

#[test]
fn every_report_round_trips() {
    for report in [fixtures::safe(), fixtures::violated(), fixtures::failed(), fixtures::queued()] {
        let text = render(&report).unwrap();
        assert!(text.ends_with("}\n"));
        assert_eq!(parse(&text).unwrap(), report);
    }
}

#[test]
fn reports_with_an_error_code_of_another_version_round_trip() {
    let text = render(&fixtures::failed()).unwrap().replace("\"exception\"", "\"not_finite\"");
    let report = parse(&text).unwrap();
    let codes: Vec<_> = report.episode_details.iter().flat_map(|episode| &episode.error).map(|e| &e.code).collect();
    assert!(matches!(codes[..], [PolicyErrorCode::Other(_), PolicyErrorCode::Other(_), PolicyErrorCode::Timeout]));
    assert_eq!(render(&report).unwrap(), text);
    assert!(assay_report::junit::render(&report).contains("not_finite: ValueError"));
    assert!(assay_report::markdown::render(&report).contains(r"not\_finite: ValueError"));
}

#[test]
fn other_text_is_refused() {
    assert!(parse("{}").is_err());
    assert!(parse("not json").is_err());
}

proptest! {
    #[test]
    fn numbers_round_trip_to_the_last_bit(x in any::<f64>().prop_filter("JSON has no others", |x| x.is_finite())) {
        let mut report = fixtures::safe();
        report.episode_details[0].sim_time_s = x;
        report.episode_details[0].clauses[0].robustness = Some(x);
        let back = parse(&render(&report).unwrap()).unwrap();
        prop_assert_eq!(back.episode_details[0].sim_time_s.to_bits(), x.to_bits());
        prop_assert_eq!(back.episode_details[0].clauses[0].robustness.map(f64::to_bits), Some(x.to_bits()));
    }
}

/// Digests are written as in every earlier version; a file with any other text is not a report of assay.
#[test]
fn digests_are_lower_case_digits() {
    let report = fixtures::violated();
    let text = render(&report).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let digests = [
        (&value["scenario_digest"], "5f".repeat(32)),
        (&value["policy_sha256"], "c3".repeat(32)),
        (&value["fingerprint"]["libmujoco_sha256"], "ab".repeat(32)),
    ];
    for (written, digits) in digests {
        assert_eq!(*written, digits.as_str());
        for other in ["", "5f", &digits.to_uppercase()] {
            let error = parse(&text.replace(&digits, other)).unwrap_err();
            assert!(matches!(error, JsonError::Read(_)), "{other:?}: {error}");
        }
    }
}
