//! `assay serve`.

use assay_policy::remote::AddressGuard;
use assay_worker::WallBudget;
use clap::ArgMatches;

use crate::cli::ServeArgs;
use crate::exit::{Code, Failure, OrFail};
use crate::settings::{Effective, SettingSources, Settings, example};
use crate::{judge, screen, service};

pub(crate) fn run(arguments: &ServeArgs, matches: &ArgMatches) -> Result<Code, Failure> {
    if arguments.example_settings {
        super::print(&example());
        return Ok(Code::Success);
    }
    let effective = Effective::load(&SettingSources::gather(arguments, matches).usage()?).usage()?;
    effective.settings.server.data().usage()?;
    if arguments.check {
        let text = if arguments.json { format!("{:#}", effective.json()) } else { effective.table(screen::layout()) };
        super::print(&text);
    }
    let server = &effective.settings.server;
    crate::log::start(matches.get_count("verbose"), server.log_level, server.log_format);
    for warning in &effective.warnings {
        eprintln!("assay: warning: {warning}");
    }
    if arguments.check {
        return Ok(Code::Success);
    }
    serve(&effective.settings)
}

fn serve(settings: &Settings) -> Result<Code, Failure> {
    let installation = super::installation()?;
    let judge = judge::of(&settings.judge.arguments())?;
    let guard = AddressGuard::new(settings.server.policy_networks.iter().map(|network| network.0).collect());
    let engine = super::engine(&installation, settings.server.lanes, settings.server.isolation().accepted())?;
    let limits = &settings.limits.job;
    let wall_budget =
        WallBudget { base: limits.wall_budget_s.get(), per_simulated_s: limits.wall_budget_per_simulated_s.into() };
    let engine = engine.guarded_by(guard).ours()?.with_wall_budget(wall_budget);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().ours()?;
    runtime.block_on(service::run(settings, engine, judge)).ours()?;
    Ok(Code::Success)
}
