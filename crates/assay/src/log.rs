//! The log on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::settings::{LogFormat, LogLevel};

/// Limits a library that reports at the level `info` each time it repeats a request.
const OF_REQUESTS: &str = "object_store=warn";

/// Starts logging at `level`, or at the level that the number of `-v` flags (`verbose`) selects. The filter in
/// `ASSAY_LOG` takes precedence over both.
pub(crate) fn start(verbose: u8, level: LogLevel, format: LogFormat) {
    let level = match verbose {
        0 => level,
        1 => LogLevel::Info,
        _ => LogLevel::Debug,
    };
    let default = || {
        let filter = EnvFilter::default().add_directive(LevelFilter::from(level).into());
        match (level, OF_REQUESTS.parse()) {
            (LogLevel::Info, Ok(directive)) => filter.add_directive(directive),
            _ => filter,
        }
    };
    let filter = EnvFilter::try_from_env("ASSAY_LOG").unwrap_or_else(|_| default());
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // `with_ansi` overrides the subscriber's own handling of `NO_COLOR`, so the variable is checked here.
    let plain = !std::io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let lines = lines.with_ansi(!plain);
    match format {
        LogFormat::Text => lines.with_target(false).init(),
        LogFormat::Json => {
            lines.json().flatten_event(true).init();
            crate::printing::log_json();
            std::panic::set_hook(Box::new(|panic| tracing::error!(panic = %panic, "a thread panicked")));
        }
    }
}
