//! Standard output as people see it: how wide it is, and whether it takes colours.

use std::io::IsTerminal;

use assay_report::terminal::Layout;

/// Columns where there is no terminal and no `COLUMNS` to ask.
const DEFAULT_WIDTH: usize = 120;

/// Columns and colours of standard output: the terminal's, or those of `COLUMNS` and none.
pub(crate) fn width_and_colour() -> (usize, bool) {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = match is_terminal {
        true => usize::from(console::Term::stdout().size().1),
        false => columns().unwrap_or(DEFAULT_WIDTH),
    };
    // https://no-color.org: an empty value says nothing.
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    (width, is_terminal && !plain)
}

/// Lays out what is printed on standard output.
pub(crate) fn layout() -> Layout {
    let (width, colour) = width_and_colour();
    Layout::new(width, colour)
}
