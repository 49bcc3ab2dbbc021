//! The fuzz target of reports from elsewhere.

use assay_fuzz::{pair, with_text};
use assay_model::EpisodePlots;

use crate::attest::recompute;
use crate::terminal::TerminalOptions;
use crate::{html, json, junit, markdown, sarif, terminal};

/// Parses the input as `report.json`, and as `plots.json` of one of its episodes.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn report(data: &[u8]) {
    let (report, plots) = pair(data);
    with_text(report, |text| {
        let Ok(report) = json::parse(text) else { return };
        drop(recompute(&report));
        for width in [0, 40, 120] {
            drop(terminal::render(
                &report,
                &TerminalOptions { width, colour: width == 120, paths: Vec::new(), again: None },
            ));
        }
        drop(markdown::render(&report));
        drop(junit::render(&report));
        sarif::render(&report, "0").expect("SARIF of a report");
        let plots = serde_json::from_slice::<EpisodePlots>(plots).ok();
        let plots: Vec<_> = html::drawn(&report).into_iter().zip(plots).collect();
        let page =
            html::render(&report, html::Assets { scenario: None, plots: &plots, addresses: None, generator: "a test" });
        let page = page.expect("a page of a report");
        assert!(!page.contains("<script"), "the page contains a script");
        let again = json::render(&report).expect("a report is JSON");
        assert_eq!(json::parse(&again).expect("a rendered report parses"), report, "a report survives a round trip");
    });
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn report_accepts_its_corpus() {
        run_corpus("report", super::report);
    }
}
