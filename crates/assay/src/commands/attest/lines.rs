//! The lines of an answer.

use assay_report::attest::KnownKey;
use jiff::Timestamp;

use crate::commands::stdout::print;
use crate::exit::{Code, Failure};
use crate::screen;

pub(super) fn refuse(what: &str, why: &dyn std::fmt::Display) -> Result<Code, Failure> {
    let mut text = String::new();
    line(&mut text, "result", &format!("REFUSED, the {what} does not hold: {why}"));
    print(&text);
    Ok(Code::Unsafe)
}

pub(super) fn line(text: &mut String, what: &str, found: &str) {
    text.push_str(&screen::layout().facts(&[(format!("{what:<9}"), found.to_owned())], 0));
}

pub(super) fn signer(key: &KnownKey) -> String {
    let mut text = String::new();
    let retired = key.retired_at.map_or_else(String::new, |at| format!(", retired {}", moment(at)));
    line(&mut text, "signature", &format!("by key {} (made {}{retired})", key.keyid, moment(key.created_at)));
    text
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
