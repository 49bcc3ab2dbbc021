#![expect(clippy::unwrap_used, reason = "tests")]

use assay_model::{Artifact, EpisodeResult, JobReport, Sha256Digest};
use assay_store_testing::{episode, job};

use super::evidence_urls::EvidenceUrls;
use super::{EpisodeView, JobView};

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

/// `GET /verify/{id}` and `report.json` share one documented schema.
#[test]
fn a_job_has_the_fields_of_a_report() {
    let header = job(1, "lab", 3, 1).header;
    assert_eq!(text(&JobView::accepted(&header)), text(&JobReport::queued(&header)));
}

#[test]
fn an_episode_has_the_fields_of_its_result() {
    let evidence = vec![Artifact { name: "a.png".into(), sha256: Sha256Digest::new([0; 32]), size_bytes: 7 }];
    let result = EpisodeResult { evidence, ..episode(2) };
    assert_eq!(text(&EpisodeView::new(result.clone(), &EvidenceUrls::NONE)), text(&result.rounded()));
}

#[test]
fn removed_evidence_has_no_url_and_no_type() {
    let path = "episodes/002/log.mcap";
    let evidence = vec![Artifact { name: path.into(), sha256: Sha256Digest::new([0; 32]), size_bytes: 7 }];
    let mut result = EpisodeResult { evidence, ..episode(2) };
    result.set_log(Some(path.into()));
    let view = serde_json::to_value(EpisodeView::new(result, &EvidenceUrls::NONE)).unwrap();
    for field in ["/log_url", "/log_type", "/evidence/0/url"] {
        assert!(view.pointer(field).unwrap().is_null(), "{field}");
    }
}
