//! Tests of the report on a terminal.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use crate::fixtures;
use assay_model::JobReport;
use assay_report::RunAgain;
use assay_report::terminal::{TerminalOptions, render};

fn show(report: &JobReport, width: usize, colour: bool) -> String {
    let paths = [
        ("video", "out/episodes/000/video.mp4"),
        ("trace", "out/episodes/000/trace.parquet"),
        ("report", "out/report.html"),
    ];
    let paths = paths.map(|(label, path)| (label.to_owned(), path.to_owned())).to_vec();
    render(report, &TerminalOptions { width, colour, paths, again: None })
}

#[test]
fn a_safe_policy() {
    insta::assert_snapshot!("safe", show(&fixtures::safe(), 120, false));
}

#[test]
fn an_unsafe_policy() {
    insta::assert_snapshot!("unsafe", show(&fixtures::violated(), 120, false));
}

#[test]
fn an_unsafe_policy_on_a_narrow_terminal() {
    insta::assert_snapshot!("unsafe_narrow", show(&fixtures::violated(), 80, false));
}

#[test]
fn a_certification_that_failed() {
    let text = show(&fixtures::uncertified(), 200, false);
    assert!(text.contains("Not certified: the target was 5 %."), "{text}");
    assert!(text.contains("The plan was 59 episodes without a failure; the first failure, in episode 4, ended it"));
}

#[test]
fn a_failing_policy() {
    insta::assert_snapshot!("inconclusive", show(&fixtures::failed(), 120, false));
}

#[test]
fn a_job_without_a_verdict() {
    insta::assert_snapshot!("queued", show(&fixtures::queued(), 100, false));
}

#[test]
fn colours_change_nothing_but_colours() {
    for report in [fixtures::safe(), fixtures::violated(), fixtures::failed()] {
        let coloured = show(&report, 120, true);
        assert!(coloured.contains("\u{1b}["), "no colour at all");
        assert_eq!(assay_model::sanitise(&coloured, usize::MAX), show(&report, 120, false));
    }
}

#[test]
fn hostile_text_cannot_control_the_terminal() {
    let plain = show(&fixtures::failed(), 120, false);
    assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "a control character got through");
    assert!(!plain.contains('\u{202e}'));
    assert!(plain.contains("<script>alert('x')</script>"), "the message itself must stay readable");
}

#[test]
fn lines_fit_the_terminal() {
    let report = fixtures::violated();
    for width in [80, 100, 110, 120, 160, 240] {
        let text = show(&report, width, false);
        // The command and the paths are not wrapped, so that they can be copied.
        let laid_out = text.split("\nFiles\n").next().unwrap();
        let widest = laid_out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} columns on a terminal of {width}:\n{text}");
    }
}

/// Returns the words of a report, except those of the frame around its verdict and of the paths and commands at its
/// end.
fn words(text: &str) -> Vec<String> {
    let body = text.split("\nFiles\n").next().unwrap();
    body.split_whitespace().map(str::to_owned).filter(|word| !word.starts_with(['─', '═', '╔', '╚'])).collect()
}

#[test]
fn no_word_is_broken_and_nothing_is_wider_than_the_terminal() {
    let mut long = fixtures::violated();
    for episode in &mut long.episode_details {
        for clause in &mut episode.clauses {
            clause.title = Some("The tool keeps to ANSI/A3-R15.06-2025:5.10.3-and-5.10.4 as applied".into());
        }
    }
    for report in [fixtures::safe(), fixtures::violated(), long] {
        let whole: std::collections::BTreeSet<_> = words(&show(&report, 400, false)).into_iter().collect();
        for width in [50, 80, 100, 110, 113, 120, 130] {
            let text = show(&report, width, false);
            let laid_out = text.split("\nFiles\n").next().unwrap();
            let widest = laid_out.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} columns on a terminal of {width}:\n{text}");
            // A list has other words between the facts than a table, but contains all of the facts.
            let facts = words(&text);
            for clause in report.episode_details.iter().flat_map(|episode| &episode.clauses) {
                let frame = ['(', ')', ':'];
                for word in clause.title.iter().flat_map(|title| title.split(' ')).chain([clause.id.as_str()]) {
                    let found = facts.iter().any(|fact| fact.trim_matches(frame) == word.trim_matches(frame));
                    assert!(found || !whole.contains(word), "{word:?} is broken at {width}:\n{text}");
                }
            }
        }
    }
}

#[test]
fn failed_episodes_are_listed_first() {
    let mut report = fixtures::violated();
    let clean = report.episode_details[0].clone();
    let mut bad = report.episode_details[1].clone();
    report.episode_details = (0..100).map(|episode| assay_model::EpisodeResult { episode, ..clean.clone() }).collect();
    bad.episode = 97;
    report.episode_details[97] = bad;
    let text = show(&report, 120, false);
    assert!(text.contains("60 episodes more in the report file."));
    assert!(text.lines().any(|line| line.trim_start().starts_with("97 ")), "{text}");
}

#[test]
fn commands_to_copy_contain_no_hidden_names() {
    let command = |policy: &str| {
        let again = RunAgain {
            program: vec!["assay".into()],
            policy: Some(policy.to_owned()),
            scenario: "tabletop_reach".into(),
            options: vec![],
        };
        let options = TerminalOptions { width: 120, colour: false, paths: vec![], again: Some(again) };
        let shown = render(&fixtures::safe(), &options);
        shown.lines().find(|line| line.contains("assay verify")).unwrap().trim().to_owned()
    };
    assert!(command("/tmp/it's/policy").contains(r#""/tmp/it's/policy""#));
    // An escape sequence hides the following quotation mark: the quoted text would differ from the visible text.
    let hidden = command("/tmp/abc'\u{1b}$(touch PWNED)'x'\u{1b}");
    assert!(!hidden.contains("PWNED") && hidden.contains("cannot be shown"), "{hidden}");
}
