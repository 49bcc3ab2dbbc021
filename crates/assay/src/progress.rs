//! Progress of an evaluation: bars on a terminal, plain lines otherwise.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Mutex;

use assay_model::EpisodeResult;
use assay_worker::EvaluationEvents;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::printing::complain;

/// Reports the progress of an evaluation on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    bars: Option<Bars>,
    quiet: bool,
    episodes: u32,
    done: Mutex<u32>,
}

#[derive(Debug)]
struct Bars {
    all: MultiProgress,
    job: ProgressBar,
    episodes: Mutex<HashMap<u32, ProgressBar>>,
}

impl Progress {
    /// Creates the bars for `episodes` episodes. If `quiet` (with `--json`), nothing is printed without a terminal.
    pub(crate) fn new(episodes: u32, quiet: bool) -> Self {
        Self::of("verifying", episodes, quiet)
    }

    /// Creates the bars for `episodes` episodes of this activity.
    pub(crate) fn of(activity: &'static str, episodes: u32, quiet: bool) -> Self {
        let bars = std::io::stderr().is_terminal().then(|| Bars::new(activity, episodes));
        Self { bars, quiet, episodes, done: Mutex::new(0) }
    }

    /// Removes the bars.
    pub(crate) fn clear(&self) {
        if let Some(bars) = &self.bars {
            bars.clear();
        }
    }
}

impl Bars {
    fn new(activity: &'static str, episodes: u32) -> Self {
        let all = MultiProgress::new();
        let job = all.add(ProgressBar::new(u64::from(episodes)));
        job.set_style(style("{prefix:>12.bold} [{bar:32.green/dim}] {pos}/{len} episodes  {elapsed}"));
        job.set_prefix(activity);
        job.enable_steady_tick(std::time::Duration::from_millis(100));
        Self { all, job, episodes: Mutex::new(HashMap::new()) }
    }

    /// Removes all bars. A bar whose clock still ticks would be drawn again, over whatever follows.
    fn clear(&self) {
        self.job.disable_steady_tick();
        self.job.finish_and_clear();
        if let Ok(mut episodes) = self.episodes.lock() {
            episodes.drain().for_each(|(_, bar)| bar.finish_and_clear());
        }
        // Bars that can't be cleared stay on the screen, which is harmless.
        let _ = self.all.clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ ")
}

impl EvaluationEvents for Progress {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        let Some(bars) = &self.bars else { return };
        let Ok(mut episodes) = bars.episodes.lock() else { return };
        let bar = episodes.entry(episode).or_insert_with(|| {
            let bar = bars.all.add(ProgressBar::new(u64::from(of)));
            bar.set_style(style("{prefix:>12} [{bar:32.cyan/dim}] step {pos}/{len}"));
            bar.set_prefix(format!("episode {episode}"));
            bar
        });
        bar.set_position(u64::from(step));
    }

    fn finished(&self, result: &EpisodeResult) {
        let done = self.done.lock().map_or(0, |mut done| {
            *done += 1;
            *done
        });
        match &self.bars {
            Some(bars) => {
                bars.job.set_position(u64::from(done));
                if let Ok(mut episodes) = bars.episodes.lock()
                    && let Some(bar) = episodes.remove(&result.episode)
                {
                    bar.finish_and_clear();
                }
            }
            None if self.quiet => {}
            None => complain!("{}", line(result, done, self.episodes)),
        }
    }
}

fn line(result: &EpisodeResult, done: u32, of: u32) -> String {
    let outcome = match &result.error {
        Some(error) => format!("{}: {}", error.code, error.message.lines().next().unwrap_or_default()),
        None if result.has_critical_violation() => "a critical clause was violated".to_owned(),
        None if result.success => "success".to_owned(),
        None => "no success".to_owned(),
    };
    format!("[{done}/{of}] episode {} after {:.2} s simulated: {outcome}", result.episode, result.sim_time_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleared_bars_are_not_drawn_again() {
        let progress =
            Progress { bars: Some(Bars::new("verifying", 2)), quiet: true, episodes: 2, done: Mutex::new(0) };
        progress.progress(0, 3, 10);
        let bars = progress.bars.as_ref().expect("bars");
        let episode = bars.episodes.lock().expect("bars").get(&0).cloned().expect("its bar");
        assert!(!bars.job.is_finished() && !episode.is_finished());
        progress.clear();
        assert!(bars.job.is_finished() && episode.is_finished(), "a bar still ticks");
    }
}
