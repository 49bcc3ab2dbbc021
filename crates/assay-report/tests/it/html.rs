//! Tests of the HTML report: self-contained, escaped, and complete about its gaps.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use std::collections::BTreeMap;

use assay_model::{ClauseResult, EpisodePlots, EpisodeResult, JobReport, ScenarioCard, Sha256Digest};
use assay_report::html::{Assets, render};

use crate::fixtures;

fn card() -> ScenarioCard {
    ScenarioCard {
        id: "tabletop_reach".parse().unwrap(),
        name: "Reach on a table".into(),
        description: "Bring the hand to a target between posts <b>without</b> touching them.".into(),
        difficulty: 2,
        time_limit: 10,
        max_score: 1000,
        long_description: String::new(),
        version: "1.0.0".into(),
        digest: Sha256Digest::new([0x5f; 32]),
        max_violation_probability: 0.1,
        arena_episodes: 3,
        idle_progress: 0.0,
        replan_steps: None,
        archive_mib: None,
        render_profile: None,
        drawn_ranges: None,
    }
}

/// Returns triangular plots: from the safe side to each clause's smallest margin and back.
fn plots(report: &JobReport) -> Vec<(u32, EpisodePlots)> {
    let time: Vec<f64> = (0..400).map(|i| f64::from(i) * 0.01).collect();
    let of = |episode: &EpisodeResult| {
        let margin = |clause: &ClauseResult| {
            let worst = clause.robustness?;
            let at = clause.worst_time_s?;
            let margins = time.iter().map(|t| worst + (t - at).abs() * clause.limit.abs().max(0.1)).collect();
            Some((clause.id.clone(), margins))
        };
        let margins: Vec<_> = episode.clauses.iter().filter_map(margin).collect();
        (episode.episode, EpisodePlots::new(&time, &margins, &[0.1, 0.1, 0.7, 5.0]))
    };
    report.episode_details.iter().map(of).collect()
}

/// Renders the page, and also stores it in the build folder for inspection.
fn page(name: &str, report: &JobReport) -> String {
    let html = render(
        report,
        Assets { scenario: Some(&card()), plots: &plots(report), addresses: None, generator: "assay 0.1.0" },
    )
    .unwrap();
    std::fs::write(format!("{}/{name}.html", env!("CARGO_TARGET_TMPDIR")), &html).unwrap();
    html
}

#[test]
fn hostile_text_is_escaped_everywhere() {
    let html = page("inconclusive", &fixtures::failed());
    assert!(!html.contains("<script"), "a script element got into the page");
    assert!(!html.contains("<img"), "an image element got into the page");
    assert!(!html.contains("javascript:"), "an address that runs code got into the page");
    assert!(!html.contains("<b>"), "the scenario's text is not escaped");
    assert_eq!(html.matches("</title>").count(), html.matches("<title>").count());
    assert!(html.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
    assert!(html.contains("&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62; &#38; &#34;quoted&#34; red"));
    assert!(html.contains("<p>Remedy: do less per step"), "advice for a known cause");
}

#[test]
fn pages_are_self_contained() {
    for (name, report) in [("safe", fixtures::safe()), ("unsafe", fixtures::violated()), ("queued", fixtures::queued())]
    {
        let html = page(name, &report);
        for outside in ["http://", "https://", "@import", "url(", "<link", "<script", "<iframe"] {
            assert!(!html.contains(outside), "{name}: {outside}");
        }
        assert!(html.contains("default-src 'none'"));
    }
}

#[test]
fn pages_stored_elsewhere_link_by_address() {
    let report = fixtures::violated();
    let addresses = BTreeMap::from([("episodes/001/video.mp4".to_owned(), "/artifacts/v?signature=1".to_owned())]);
    let assets = Assets { addresses: Some(&addresses), ..Assets::default() };
    let html = render(&report, assets).unwrap();
    assert!(html.contains("src=\"/artifacts/v?signature=1\""));
    assert!(html.contains("href=\"/artifacts/v?signature=1#t=3.42\""));
    assert!(!html.contains("\"episodes/"), "a path leads nowhere from there");
}

#[test]
fn a_violation_is_shown_in_every_section() {
    let html = page("unsafe", &fixtures::violated());
    for part in [
        "<h1 class=\"bad\">UNSAFE</h1>",
        "violated in ep. 1",
        "83.12 N",
        "-33.12",
        "ISO 10218-1:2025 class I: 50 N",
        "href=\"episodes/001/video.mp4#t=3.42\"",
        "src=\"episodes/001/video.mp4\"",
        "evidence, never conformity",
        "dashed: limit 50 N",
        "83.12 N at ",
        "src=\"episodes/001/video.mp4#t=3.02\"",
        "class=\"span-bad\"",
        "Sensitivity to limits",
        "Latency of the policy",
        "assay verify my_policy --scenario tabletop_reach --episodes 3 --seed 7 --policy-key a5a5",
    ] {
        assert!(html.contains(part), "{part} is missing");
    }
}

#[test]
fn a_satisfied_clause_shows_the_measured_value() {
    let html = page("safe", &fixtures::safe());
    assert!(
        html.contains("<td data-label=\"worst\" class=\"number\">0.2099 m/s</td><td data-label=\"margin\" class=\"number\">+0.0401</td>"),
        "over all episodes"
    );
    assert!(
        html.contains("class=\"number\">0.2079 m/s</td><td data-label=\"least margin\" class=\"number\">+0.0421</td>"),
        "of an episode"
    );
    let mut report = fixtures::safe();
    report.episode_details.iter_mut().for_each(|episode| episode.clauses[1].worst_value = None);
    let html = page("safe_without_value", &report);
    assert!(
        html.contains("class=\"number\">-</td><td data-label=\"margin\" class=\"number\">+0.0401</td>"),
        "no comparison, no value"
    );
}

#[test]
fn gaps_in_the_measurement_are_listed() {
    let html = page("inconclusive", &fixtures::failed());
    assert!(html.contains("Clause contact_force could not be decided in ep. 1-3."));
    assert!(html.contains("Incomplete episodes, whose remainder is unknown: 1-3."));
    assert!(page("safe", &fixtures::safe()).contains("Every clause was decided in every episode."));
}

#[test]
fn a_job_without_a_verdict_has_a_page() {
    let html = page("queued", &fixtures::queued());
    assert!(html.contains("QUEUED") && html.contains("waiting for a free lane"));
    assert!(html.contains("Requested, but missing from this report: 3 episodes."));
}

#[test]
fn episodes_come_worst_first_and_say_what_is_not_listed() {
    let mut report = fixtures::violated();
    let violated = |clause: &&mut ClauseResult| clause.status == assay_model::ClauseStatus::Violated;
    let worst = report.episode_details.iter().position(|e| !e.violations.is_empty()).unwrap();
    let episode = &mut report.episode_details[worst];
    let clause = episode.clauses.iter_mut().find(violated).unwrap();
    let listed = episode.violations.iter().filter(|violation| violation.clause == clause.id).count();
    clause.violation_count = u32::try_from(listed).unwrap() + 24;
    let html = page("unsafe_many", &report);
    let first = html.split("<details id=\"episode-").nth(1).unwrap();
    assert!(first.starts_with(&format!("{worst}\"")) && worst > 0, "the violation is in episode {worst}");
    assert!(html.contains("24 more intervals of "), "intervals beyond those kept");
    assert!(!page("unsafe", &fixtures::violated()).contains("Not listed here"));
}

#[test]
fn on_a_phone_every_value_has_its_label() {
    let html = page("unsafe", &fixtures::violated());
    let tables: Vec<&str> = html.split("class=\"scroll stack\"").skip(1).collect();
    assert!(tables.len() >= 4, "{} tables", tables.len());
    for table in tables {
        let table = &table[..table.find("</table>").unwrap()];
        assert_eq!(table.matches("<td").count(), table.matches("<td data-label=\"").count(), "{table}");
    }
    assert!(html.contains("<dd title=\"2026-"), "exact times are in tooltips");
}

#[test]
fn the_picture_of_the_gravest_violation_leads_to_the_clip_around_it() {
    let mut report = fixtures::violated();
    let future = page("unsafe", &report);
    let inside = "episodes/001";
    for part in [format!("<img src=\"{inside}/still.png\""), format!("href=\"{inside}/clip.mp4\"")] {
        assert!(future.contains(&part), "{part}: a page written with the verdict names what follows");
    }
    // Until the picture exists, a sentence shows through it; an image with a text would draw a broken one.
    assert!(future.contains("There is no picture yet.") && future.contains("/still.png\" alt=\"\""));
    let file = |name: &str| assay_model::Artifact {
        name: format!("{inside}/{name}"),
        sha256: Sha256Digest::new([1; 32]),
        size_bytes: 1,
    };
    let mut drawn = report.clone();
    drawn.episode_details[1].evidence.extend(["video.mp4", "still.png"].map(file));
    let drawn = page("unsafe_drawn", &drawn);
    assert!(!drawn.contains("no picture yet") && drawn.contains("/still.png\" alt=\"Episode 1 at "), "{drawn}");
    // A video of an earlier release has neither.
    report.episode_details[1].evidence.push(file("video.mp4"));
    let old = page("unsafe_old", &report);
    assert!(!old.contains("still.png") && !old.contains("clip.mp4"));
    let figure = old.split("<figure class=\"still\">").nth(1).unwrap();
    assert!(figure[..figure.find("</figure>").unwrap()].contains("<video"), "the video stands for them");
}

/// `always (force <= 2 * limit and mean[0:0.5] (force) <= limit)`: its margin is not a measured force.
#[test]
fn a_margin_is_not_labelled_as_a_measurement() {
    let mut report = fixtures::safe();
    let clauses = report.episode_details.iter_mut().map(|episode| &mut episode.clauses[0]);
    clauses.for_each(|clause| (clause.worst_value, clause.robustness) = (None, Some(160.0)));
    let html = page("margins", &report);
    assert!(html.contains(">margin 160 N at 0.00 s<"), "the label of the margin");
    assert!(!html.contains(">160 N at"), "nothing was touched");
    assert!(html.contains("dashed: margin 0"));
}

#[test]
fn the_page_tells_onset_and_peak_apart() {
    let html = page("unsafe", &fixtures::violated());
    let lead = "The arm does not press on anything (contact_force) in episode 1, from 3.42 s (66.56 N), peak 83.12 N at 3.51 s, limit \
                50 N; violated in 1 of 3 episodes.";
    assert!(html.contains(lead), "the lead");
    let safe = page("safe", &fixtures::safe());
    assert!(safe.contains("Closest to its limit: The arm does not touch itself (self_collision), 0.0294 m, limit 0 m"));
}
