//! The progress bars of an upload.

use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar for `bytes` bytes labelled `prefix`, which is hidden without a terminal.
pub(in crate::commands) fn bar(prefix: &'static str, bytes: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{prefix:>12.bold} [{bar:32.green/dim}] {bytes}/{total_bytes}  {bytes_per_sec}  {eta}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(bytes);
    bar.set_style(style.progress_chars("━╸ "));
    bar.set_prefix(prefix);
    bar
}

/// A reader that moves a bar.
pub(super) struct BarReader<'a, R> {
    pub(super) source: R,
    pub(super) bar: &'a ProgressBar,
}

impl<R: Read> Read for BarReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}
