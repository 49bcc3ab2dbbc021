//! `assay season open|close|list`: accesses the data folder directly, even while the service runs.

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_model::{Clock, Entropy, Isolation, ScenarioCard, ScenarioId, SeasonSecret, SystemClock};
use assay_store::{NewSeason, OpenSeasonOutcome, Records, Season, SeasonPins, SeasonState};
use assay_worker::Engine;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::DataArgs;
use crate::screen;

/// Number of characters of a commitment that are shown.
const COMMITMENT_SHOWN: usize = 16;

#[derive(Debug, Subcommand)]
pub(crate) enum SeasonCommand {
    /// Open the next season of a scenario: it accepts submissions from now on
    #[command(after_help = "Example: assay season open cartpole_keepin --data ./data")]
    Open {
        /// The scenario's id
        scenario: String,
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Close a season: run its first entries again on fresh seeds, then publish seeds and evidence
    #[command(after_help = "Example: assay season close cartpole_keepin --data ./data --top 10")]
    Close {
        /// The scenario's id
        scenario: String,
        #[command(flatten)]
        data: DataArgs,
        /// Number of entries, from the first rank on, that are run again
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=1000))]
        top: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all seasons, newest first
    List {
        /// Only the seasons of this scenario
        scenario: Option<String>,
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON, with the secrets of closed seasons
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &SeasonCommand) -> Result<ExitStatus, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_internal()?;
    runtime.block_on(async {
        match command {
            SeasonCommand::Open { data, scenario, json } => open(data, scenario, *json).await,
            SeasonCommand::Close { data, scenario, top, json } => close(data, scenario, *top, *json).await,
            SeasonCommand::List { data, scenario, json } => list(data, scenario.as_deref(), *json).await,
        }
    })
}

async fn records(data: &DataArgs) -> Result<Box<dyn Records>, Failure> {
    data.records("assay season").await
}

fn random_secret() -> SeasonSecret {
    let mut bytes = [0; 32];
    OsEntropy.fill(&mut bytes);
    SeasonSecret::new(bytes)
}

async fn open(data: &DataArgs, scenario: &str, json: bool) -> Result<ExitStatus, Failure> {
    let records = records(data).await?;
    let engine = super::machine::engine(&super::machine::installation()?, Some(1), Isolation::Namespaces)?;
    let id: ScenarioId = scenario.parse().context("the scenario").or_usage()?;
    let scenario = card(&*records, &engine, &id).await?;
    let season = NewSeason {
        scenario: id,
        pins: SeasonPins::of(&scenario, engine.fingerprint().clone()),
        secret: random_secret(),
        opened_at: SystemClock.now(),
    };
    match records.open_season(season).await.or_internal()? {
        OpenSeasonOutcome::New(season) => {
            let episodes = season.pins.episodes;
            let text = format!("opened {}: {episodes} episodes per submission", name(&season));
            show(&*records, &season, json, &text).await
        }
        OpenSeasonOutcome::Already(season) => {
            let advice = match season.state {
                SeasonState::Open => "close it first: assay season close",
                _ => "its reruns have not ended; see assay season list",
            };
            Err(Failure::Usage(anyhow!("{} is {}; {advice}", name(&season), season.state.as_str())))
        }
    }
}

/// Returns the card of a built-in scenario, or of the newest version of a published one.
async fn card(records: &dyn Records, engine: &Engine, id: &ScenarioId) -> Result<ScenarioCard, Failure> {
    match engine.library().get(id) {
        Ok(scenario) => Ok(scenario.card()),
        Err(unknown) => {
            let published = records.community_scenario(id).await.or_internal()?;
            let published = published.filter(|scenario| scenario.deleted_at.is_none());
            published.map(|scenario| scenario.card).ok_or(unknown).or_usage()
        }
    }
}

async fn close(data: &DataArgs, scenario: &str, top: u32, json: bool) -> Result<ExitStatus, Failure> {
    let records = records(data).await?;
    let id: ScenarioId = scenario.parse().context("the scenario").or_usage()?;
    let closing = records.begin_closing_season(&id, top, random_secret(), SystemClock.now()).await.or_internal()?;
    let Some(season) = closing else {
        return Err(Failure::Usage(anyhow!("{id} has no open season; see assay season list")));
    };
    let text = format!(
        "{} accepts no more submissions; the running service reruns its first {top} entries on fresh seeds, then closes it",
        name(&season)
    );
    show(&*records, &season, json, &text).await
}

async fn list(data: &DataArgs, scenario: Option<&str>, json: bool) -> Result<ExitStatus, Failure> {
    let records = records(data).await?;
    let id: Option<ScenarioId> = scenario.map(str::parse).transpose().context("the scenario").or_usage()?;
    let seasons = records.seasons(id.as_ref()).await.or_internal()?;
    if json {
        let mut rows = Vec::new();
        for season in &seasons {
            rows.push(row(&*records, season).await?);
        }
        super::stdout::print(&serde_json::to_string_pretty(&json!({ "seasons": rows })).or_internal()?);
        return Ok(ExitStatus::Success);
    }
    let mut rows = Vec::new();
    for season in &seasons {
        rows.push(vec![
            season.scenario.to_string(),
            season.number.to_string(),
            season.state.as_str().to_owned(),
            season.opened_at.strftime("%Y-%m-%d").to_string(),
            records.unfinished_season_jobs(&season.scenario, season.number).await.or_internal()?.to_string(),
            format!("{:.COMMITMENT_SHOWN$}", season.commitment),
        ]);
    }
    let header = ["scenario", "season", "state", "opened", "waiting", "commitment"];
    super::stdout::print(&screen::layout().table(&header, &rows, 0));
    Ok(ExitStatus::Success)
}

async fn show(records: &dyn Records, season: &Season, json: bool, text: &str) -> Result<ExitStatus, Failure> {
    if json {
        super::stdout::print(&serde_json::to_string_pretty(&row(records, season).await?).or_internal()?);
    } else {
        super::stdout::print(text);
    }
    Ok(ExitStatus::Success)
}

fn name(season: &Season) -> String {
    format!("season {} of {}", season.number, season.scenario)
}

/// Returns the JSON of a season, with its secrets once it is closed.
async fn row(records: &dyn Records, season: &Season) -> Result<Value, Failure> {
    let secrets = match season.is_closed() {
        true => records.season_secrets(&season.scenario, season.number).await.or_internal()?,
        false => None,
    };
    let closed_at = match season.state {
        SeasonState::Closed { at } => Some(at),
        SeasonState::Open | SeasonState::Closing { .. } => None,
    };
    Ok(json!({
        "scenario": season.scenario, "number": season.number, "state": season.state.as_str(),
        "scenario_version": season.pins.scenario_version, "scenario_digest": season.pins.scenario_digest,
        "episodes": season.pins.episodes, "max_score": season.pins.max_score, "fingerprint": season.pins.fingerprint,
        "opened_at": season.opened_at, "closed_at": closed_at, "commitment": season.commitment,
        "waiting": records.unfinished_season_jobs(&season.scenario, season.number).await.or_internal()?,
        "secret": secrets.as_ref().map(|secrets| secrets.season.to_hex()),
        "rerun_secret": secrets.and_then(|secrets| secrets.rerun).map(|secret| secret.to_hex()),
    }))
}
