//! The width of standard output, and whether it supports colours.

use std::io::IsTerminal;

use assay_report::terminal::Layout;

/// Number of columns without a terminal and without `COLUMNS`.
const DEFAULT_WIDTH: usize = 120;

/// Returns the number of columns of standard output and whether to use colours. Without a terminal, the columns are
/// those of `COLUMNS`, and there are no colours.
pub(crate) fn width_and_colour() -> (usize, bool) {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = match is_terminal {
        true => usize::from(console::Term::stdout().size().1),
        false => columns().unwrap_or(DEFAULT_WIDTH),
    };
    // https://no-color.org: an empty value has no effect.
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    (width, is_terminal && !plain)
}

/// Returns the layout for standard output.
pub(crate) fn layout() -> Layout {
    let (width, colour) = width_and_colour();
    Layout::new(width, colour)
}
