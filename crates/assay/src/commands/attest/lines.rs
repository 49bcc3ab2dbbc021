//! Lines of the output of `assay attest verify`.

use assay_report::attest::KnownKey;
use jiff::Timestamp;

use crate::commands::stdout::print;
use crate::exit::{ExitStatus, Failure};
use crate::screen;

/// Prints that the check of `what` failed, and returns the exit status.
pub(super) fn refuse(what: &str, why: &dyn std::fmt::Display) -> Result<ExitStatus, Failure> {
    let mut text = String::new();
    line(&mut text, "result", &format!("REFUSED, the {what} check failed: {why}"));
    print(&text);
    Ok(ExitStatus::Unsafe)
}

pub(super) fn line(text: &mut String, what: &str, found: &str) {
    text.push_str(&screen::layout().facts(&[(format!("{what:<9}"), found.to_owned())], 0));
}

pub(super) fn signer(key: &KnownKey) -> String {
    let mut text = String::new();
    let retired = key.retired_at.map_or_else(String::new, |at| format!(", retired {}", moment(at)));
    line(&mut text, "signature", &format!("by key {} (created {}{retired})", key.keyid, moment(key.created_at)));
    text
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
