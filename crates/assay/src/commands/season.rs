//! `assay season open|close|list`: through the service's records, even while it runs, or through its API.

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_model::{Clock, Entropy, Isolation, ScenarioCard, ScenarioId, SeasonSecret, SystemClock};
use assay_store::{NewSeason, OpenSeasonOutcome, Records, Season, SeasonPins, SeasonState};
use assay_worker::Engine;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::ServicePlace;
use crate::screen;

/// The name under which the records are opened.
const PROGRAM: &str = "assay season";
/// Number of characters of a commitment that are shown.
const COMMITMENT_SHOWN: usize = 16;
/// Number of characters of a date.
const DATE: usize = "2026-11-21".len();

#[derive(Debug, Subcommand)]
pub(crate) enum SeasonCommand {
    /// Open the next season of a scenario: it accepts submissions from now on
    #[command(after_help = "Examples:
  assay season open cartpole_keepin --data ./data
  assay season open cartpole_keepin --server https://assay.example.org --key-file admin-key")]
    Open {
        /// The scenario's id
        scenario: String,
        #[command(flatten)]
        place: ServicePlace,
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
        place: ServicePlace,
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
        place: ServicePlace,
        /// Print JSON, with the secrets of closed seasons
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &SeasonCommand) -> Result<ExitStatus, Failure> {
    match command {
        SeasonCommand::Open { place, scenario, json } => {
            let season = open(place, &id_of(scenario)?)?;
            let text = format!("opened {}: {} episodes per submission", name(&season), season["episodes"]);
            show(&season, *json, &text)
        }
        SeasonCommand::Close { place, scenario, top, json } => {
            let season = close(place, &id_of(scenario)?, *top)?;
            let text = format!(
                "{} accepts no more submissions; the running service reruns its first {top} entries on fresh seeds, then \
                 closes it",
                name(&season)
            );
            show(&season, *json, &text)
        }
        SeasonCommand::List { place, scenario, json } => {
            let seasons = list(place, scenario.as_deref().map(id_of).transpose()?.as_ref())?;
            match json {
                true => show(&json!({ "seasons": seasons }), true, ""),
                false => show(&Value::Null, false, &table(&seasons)),
            }
        }
    }
}

fn id_of(scenario: &str) -> Result<ScenarioId, Failure> {
    scenario.parse().context("the scenario").or_usage()
}

fn random_secret() -> SeasonSecret {
    let mut bytes = [0; 32];
    OsEntropy.fill(&mut bytes);
    SeasonSecret::new(bytes)
}

fn open(place: &ServicePlace, scenario: &ScenarioId) -> Result<Value, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        let engine = super::machine::engine(&super::machine::installation()?, Some(1), Isolation::Namespaces)?;
        let card = card(&*records, &engine, scenario).await?;
        let season = NewSeason {
            scenario: scenario.clone(),
            pins: SeasonPins::of(&card, engine.fingerprint().clone()),
            secret: random_secret(),
            opened_at: SystemClock.now(),
        };
        match records.open_season(season).await.or_internal()? {
            OpenSeasonOutcome::New(season) => row(&*records, &season).await,
            OpenSeasonOutcome::Already(season) => {
                let advice = match season.state {
                    SeasonState::Open => "close it first: assay season close",
                    SeasonState::Closing { .. } | SeasonState::Closed { .. } => {
                        "its reruns have not ended; see assay season list"
                    }
                };
                let (number, state) = (season.number, season.state.as_str());
                Err(Failure::Usage(anyhow!("season {number} of {scenario} is {state}; {advice}")))
            }
        }
    });
    if let Some(season) = local {
        return season;
    }
    place.client()?.post("/v1/seasons", &json!({ "scenario": scenario })).or_internal()?.success()
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

fn close(place: &ServicePlace, scenario: &ScenarioId, top: u32) -> Result<Value, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        let now = SystemClock.now();
        match records.begin_closing_season(scenario, top, random_secret(), now).await.or_internal()? {
            Some(season) => row(&*records, &season).await,
            None => Err(Failure::Usage(anyhow!("{scenario} has no open season; see assay season list"))),
        }
    });
    if let Some(season) = local {
        return season;
    }
    let body = json!({ "scenario": scenario, "top": top });
    place.client()?.post("/v1/seasons/close", &body).or_internal()?.success()
}

fn list(place: &ServicePlace, scenario: Option<&ScenarioId>) -> Result<Vec<Value>, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        let mut rows = Vec::new();
        for season in records.seasons(scenario).await.or_internal()? {
            rows.push(row(&*records, &season).await?);
        }
        Ok(rows)
    });
    if let Some(seasons) = local {
        return seasons;
    }
    let query = scenario.map_or_else(String::new, |scenario| format!("?scenario={scenario}"));
    let answer = place.client()?.get(&format!("/v1/seasons{query}")).or_internal()?.success()?;
    Ok(answer["seasons"].as_array().cloned().unwrap_or_default())
}

fn show(value: &Value, json: bool, text: &str) -> Result<ExitStatus, Failure> {
    match json {
        true => super::stdout::print(&serde_json::to_string_pretty(value).or_internal()?),
        false => super::stdout::print(text),
    }
    Ok(ExitStatus::Success)
}

fn table(seasons: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        // The API does not disclose to everyone how many submissions run.
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let shortened = |value: &Value, length: usize| text(value).chars().take(length).collect::<String>();
    let row = |season: &Value| {
        vec![
            text(&season["scenario"]),
            text(&season["number"]),
            text(&season["state"]),
            shortened(&season["opened_at"], DATE),
            text(&season["waiting"]),
            shortened(&season["commitment"], COMMITMENT_SHOWN),
        ]
    };
    let rows: Vec<_> = seasons.iter().map(row).collect();
    let header = ["scenario", "season", "state", "opened", "waiting", "commitment"];
    screen::layout().table(&header, &rows, 0)
}

fn name(season: &Value) -> String {
    format!("season {} of {}", season["number"], season["scenario"].as_str().unwrap_or_default())
}

/// Returns a season as the API shows it, with its secrets once it is closed, and with what only operators may know.
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
