//! `assay report`: shows a report, or converts it to another format.

mod wandb_offline;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_jail::UntrustedFolder;
use assay_model::lane::files;
use assay_model::{EpisodePlots, JobReport, ScenarioCard};
use assay_report::{RunAgain, hf_card, html, junit, markdown, sarif, schema, terminal};
use assay_worker::drawn_in;
use clap::Args;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::{FailOnArgs, result_file};
use crate::output::{EPISODES, REPORT_JSON};
use crate::results_folder::{self, StoredReport};
use crate::screen;

/// Maximum size of a file with an episode's plots, in bytes.
const MAX_PLOTS_BYTES: u64 = 16 * 1024 * 1024;
/// The name and version of this program, for HTML pages.
const GENERATOR: &str = concat!("assay ", env!("CARGO_PKG_VERSION"));

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: those of verify (0 SAFE, 1 UNSAFE, 3 INCONCLUSIVE), so that a CI step can end with it; \
2 wrong usage.

Examples:
  assay report out/run1/report.json --junit -o junit.xml
  assay report out/run1/report.json --markdown >> $GITHUB_STEP_SUMMARY"
)]
pub(crate) struct ReportArgs {
    /// The report: report.json, or the results folder that contains it
    #[arg(required_unless_present = "schema", value_parser = result_file(REPORT_JSON))]
    file: Option<PathBuf>,
    /// Print the JSON Schema of report.json
    #[arg(long, conflicts_with_all = ["file", "form"])]
    schema: bool,
    /// A self-contained HTML page, with plots from the episodes' folders beside the report
    #[arg(long, group = "form")]
    html: bool,
    /// Markdown, for a pull request
    #[arg(long, group = "form")]
    markdown: bool,
    /// JUnit XML, for a CI system
    #[arg(long, group = "form")]
    junit: bool,
    /// SARIF 2.1.0, for a code host
    #[arg(long, group = "form")]
    sarif: bool,
    /// Metadata of a Hugging Face model card: verdict, scores and bound as `model-index`
    #[arg(long, group = "form")]
    hf_card: bool,
    /// An offline run of Weights & Biases, in a new folder in this one, for `wandb sync`
    #[arg(long, group = "form", value_name = "DIR", conflicts_with = "output")]
    wandb_offline: Option<PathBuf>,
    #[command(flatten)]
    fail_on: FailOnArgs,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ReportArgs) -> Result<ExitStatus, Failure> {
    let Some(file) = &arguments.file else {
        write(arguments, &schema::render().or_internal()?)?;
        return Ok(ExitStatus::Success);
    };
    let StoredReport { text: original, mut report, .. } = results_folder::report(file).or_usage()?;
    let folder = file.parent().unwrap_or(Path::new(""));
    // Logs and videos may have been rendered since the report was written.
    for result in &mut report.episode_details {
        result.add_rendering(&drawn_in(folder, result.episode).or_usage()?, &[]);
    }
    let text = if arguments.html {
        page(&report, None, folder).or_internal()?
    } else if arguments.markdown {
        markdown::render(&report)
    } else if arguments.junit {
        junit::render(&report)
    } else if arguments.sarif {
        sarif::render(&report, env!("CARGO_PKG_VERSION")).or_internal()?
    } else if arguments.hf_card {
        hf_card::render(&report)
    } else if let Some(parent) = &arguments.wandb_offline {
        let folder = wandb_offline::write(&report, &original, parent).or_usage()?;
        format!("{}\n", folder.display())
    } else {
        for_terminal(&report, Vec::new(), None)
    };
    write(arguments, &text)?;
    let status = report.verdict.map(|verdict| arguments.fail_on.status(verdict));
    status.ok_or_else(|| Failure::Usage(anyhow!("the report has no verdict yet")))
}

fn write(arguments: &ReportArgs, text: &str) -> Result<(), Failure> {
    match &arguments.output {
        Some(path) => fs::write(path, text).with_context(|| format!("can't write {}", path.display())).or_usage(),
        None => {
            super::stdout::print(text);
            Ok(())
        }
    }
}

/// Returns the report as text for standard output, with the paths of the written files and the command that repeats
/// the verification.
pub(crate) fn for_terminal(report: &JobReport, paths: Vec<(String, String)>, again: Option<RunAgain>) -> String {
    let (width, colour) = screen::width_and_colour();
    terminal::render(report, &terminal::TerminalOptions { width, colour, paths, again })
}

/// Returns the HTML page, with plots of the episodes whose evidence is in `folder`.
pub(crate) fn page(report: &JobReport, scenario: Option<&ScenarioCard>, folder: &Path) -> anyhow::Result<String> {
    let of = |episode: u32| Some((episode, plots(folder, episode)?));
    let plots: Vec<_> = html::drawn(report).into_iter().filter_map(of).collect();
    Ok(html::render(report, html::Assets { scenario, plots: &plots, addresses: None, generator: GENERATOR })?)
}

/// Reads the plots of an episode; `None` if the file is missing or invalid.
fn plots(folder: &Path, episode: u32) -> Option<EpisodePlots> {
    let folder = UntrustedFolder::open(folder).ok()?;
    let text = folder.read(format!("{EPISODES}/{episode:03}/{}", files::PLOTS), MAX_PLOTS_BYTES);
    serde_json::from_slice(&text.ok()?).ok()
}
