//! The checking process: compiles a scenario, draws worlds and runs one, so that mistakes are reported to its author
//! before a policy runs on it.

use std::fs;
use std::time::{Duration, Instant};

use assay_model::lane::{Figures, ScenarioCheck, ScenarioFault, files};
use assay_scenario::Scenario;
use assay_sim::{CompiledScenario, Simulation, WorldError};

use crate::Places;
use crate::cpu_clock::CpuClock;
use crate::load::{LoadError, load};

/// Number of worlds drawn.
const WORLDS: u32 = 20;
/// Maximum CPU time of the smoke episode.
const SMOKE: Duration = Duration::from_millis(1500);

/// Checks the scenario and writes the findings to `checked.json`.
///
/// # Errors
/// The answer cannot be written.
pub fn check(places: &Places) -> std::io::Result<()> {
    let checked = match examine(places) {
        Ok(figures) => ScenarioCheck { fault: None, figures: Some(figures) },
        Err(fault) => ScenarioCheck { fault: Some(fault), figures: None },
    };
    fs::write(places.scratch.join(files::CHECKED), serde_json::to_vec(&checked)?)
}

fn examine(places: &Places) -> Result<Figures, ScenarioFault> {
    let began = Instant::now();
    let world = load(places).map_err(|error| fault_of(&error))?;
    let compile_ms = began.elapsed().as_secs_f64() * 1e3;
    for seed in 0..WORLDS {
        let simulation = world.simulation(seed.into()).map_err(|error| world_fault(&error))?;
        starts_clean(world.scenario(), &simulation, seed)?;
    }
    let Smoke { sim_s: smoke_s, real_time_factor, most_contacts, observation_cpu_s_per_s } = smoke(&world)?;
    let [bodies, geoms, degrees_of_freedom] = world.sizes();
    let worlds = WORLDS;
    Ok(Figures {
        compile_ms,
        bodies,
        geoms,
        degrees_of_freedom,
        worlds,
        smoke_s,
        real_time_factor,
        most_contacts,
        observation_cpu_s_per_s,
    })
}

/// Checks that no clause is violated at the start, before the policy has acted.
fn starts_clean(scenario: &Scenario, simulation: &Simulation, seed: u32) -> Result<(), ScenarioFault> {
    let columns: Vec<[f64; 1]> = simulation.sample().iter().map(|x| [*x]).collect();
    let columns: Vec<&[f64]> = columns.iter().map(<[f64; 1]>::as_slice).collect();
    for (index, clause) in scenario.clauses.iter().enumerate() {
        let margin = clause.bound.pointwise(&columns)[0];
        if margin < 0.0 {
            let problem = format!(
                "{:?} is violated at the start of world {seed}, before any action (margin {margin:.4} {}); correct the \
                 start or the limit",
                clause.id, clause.unit
            );
            return Err(in_toml(format!("clause[{index}]"), problem));
        }
    }
    Ok(())
}

/// The outcome of the smoke episode.
struct Smoke {
    sim_s: f64,
    real_time_factor: f64,
    most_contacts: u32,
    observation_cpu_s_per_s: f64,
}

/// Runs an episode with zero actions. Its cost is measured in CPU time, which does not depend on other load.
fn smoke(world: &CompiledScenario) -> Result<Smoke, ScenarioFault> {
    let scenario = world.scenario();
    let mut simulation = world.simulation(0).map_err(|error| world_fault(&error))?;
    let action = vec![0.0; scenario.control.action.len()];
    let (mut observation, mut most_contacts) = (Vec::new(), 0);
    let blind = |error: assay_sim::RenderError| in_toml("observation".to_owned(), error.to_string());
    // Excludes opening OpenGL, which takes longer than many steps and is not a cost of the world.
    simulation.observe(&mut observation).map_err(blind)?;
    let cpu = || CpuClock::own().read().unwrap_or_default();
    let (began, mut observing) = (cpu(), Duration::ZERO);
    for _ in 0..scenario.control_steps() {
        observation.clear();
        let before = cpu();
        simulation.observe(&mut observation).map_err(blind)?;
        observing += cpu().saturating_sub(before);
        simulation.act(&action);
        for _ in 0..scenario.decimation() {
            simulation.step().map_err(|unstable| {
                let problem = format!(
                    "the world becomes unstable after {:.3} s without any action: {unstable}; soften its contacts or \
                     shorten the timestep",
                    simulation.time_s()
                );
                ScenarioFault { file: scenario.world.scene.clone(), key: None, problem }
            })?;
        }
        most_contacts = simulation.contacts().count().max(most_contacts);
        if cpu().saturating_sub(began) >= SMOKE {
            break;
        }
    }
    let (sim_s, cpu_s) = (simulation.time_s(), cpu().saturating_sub(began).as_secs_f64());
    let most_contacts = u32::try_from(most_contacts).unwrap_or(u32::MAX);
    Ok(Smoke {
        sim_s,
        real_time_factor: sim_s / cpu_s.max(f64::MIN_POSITIVE),
        most_contacts,
        observation_cpu_s_per_s: observing.as_secs_f64() / sim_s.max(f64::MIN_POSITIVE),
    })
}

fn in_toml(key: String, problem: String) -> ScenarioFault {
    ScenarioFault { file: "scenario.toml".to_owned(), key: Some(key), problem }
}

fn fault_of(error: &LoadError) -> ScenarioFault {
    match error {
        LoadError::Scenario(error) => error.fault(),
        LoadError::World(error) => world_fault(error),
    }
}

fn world_fault(error: &WorldError) -> ScenarioFault {
    let (file, key) = error.place();
    let text = error.to_string();
    // Removes the file and key that the message repeats.
    let mut problem = text.strip_prefix(&format!("{file}: ")).unwrap_or(&text);
    problem = key.as_ref().and_then(|key| problem.strip_prefix(&format!("{key}: "))).unwrap_or(problem);
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    ScenarioFault { file, key, problem: format!("{problem}{cause}") }
}
