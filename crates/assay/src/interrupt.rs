//! Cancellation by Ctrl-C and SIGTERM.

use std::sync::Arc;

use assay_worker::Cancel;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Returns a cancel flag that the first SIGINT or SIGTERM sets.
pub(crate) fn cancel_on_signal() -> std::io::Result<Cancel> {
    let cancel = Cancel::new();
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(cancel.flag()))?;
    }
    Ok(cancel)
}
