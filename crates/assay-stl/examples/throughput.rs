//! Measures the cost of one sample in a monitor, in a plain loop over the same samples, and offline.
//!
//! `cargo run --release -p assay-stl --example throughput`
#![expect(clippy::print_stdout, reason = "prints its measurements")]
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use assay_stl::{Formula, TraceEnd};

const SAMPLES: usize = 1_000_000;
const ROUNDS: usize = 5;
const PERIOD_S: f64 = 0.002;

const FORMULAS: [&str; 9] = [
    "always (x <= 5)",
    "always (abs(x - 1) * 2 + y <= 9)",
    "always (x <= 5 and y <= 5 and x - y >= -9)",
    "always (x > 1 implies eventually[0:0.5] y < 0)",
    "always (x > 1 implies eventually y < 0)",
    "eventually always (x < 5)",
    "always ((x > -9) until[0:1] (y > 0.9))",
    "always (once[0:0.2] (y > 0) or historically[0:1] (x < 5))",
    "eventually[0:10] (x > 1 and next (y > 0))",
];

const EPISODE: usize = 5000;

const EPISODES: [&str; 5] = [
    "always (x <= 5)",
    "always[0:0.2] (x <= 5)",
    "always (x > 1 implies eventually[0:0.2] y < 0)",
    "always (x > 1 implies eventually[0:2] y < 0)",
    "always (x > 1 implies eventually[0:2] always[0:0.5] y < 0)",
];

fn main() -> Result<(), Box<dyn Error>> {
    let x: Vec<f64> = (0..SAMPLES).map(|i| (i as f64 * 0.01).sin() * 2.0).collect();
    let y: Vec<f64> = (0..SAMPLES).map(|i| (i as f64 * 0.013).cos()).collect();
    let rows: Vec<[f64; 2]> = x.iter().zip(&y).map(|(x, y)| [*x, *y]).collect();
    let limit = black_box(5.0);
    let plain = best(|| {
        let least = rows.iter().fold(f64::INFINITY, |least, row| black_box(least.min(limit - row[0])));
        black_box(least);
    });
    println!("{:>8} {:>8}  ns per sample ({SAMPLES} samples, best of {ROUNDS})", "push", "offline");
    println!("{plain:>8.2} {:>8}  a plain loop: least of 5 - x", "");
    for text in FORMULAS {
        let bound = Formula::parse(text, &[])?.bind(&["x", "y"], PERIOD_S)?;
        let push = best(|| {
            let mut monitor = bound.monitor();
            for row in &rows {
                black_box(monitor.push(black_box(row)));
            }
            black_box(monitor.finish(TraceEnd::Complete));
        });
        let offline = best(|| {
            black_box(bound.evaluate(&[&x, &y], TraceEnd::Complete));
        });
        println!("{push:>8.2} {offline:>8.2}  {text}");
    }
    println!("us for {EPISODE} samples offline");
    for text in EPISODES {
        let bound = Formula::parse(text, &[])?.bind(&["x", "y"], PERIOD_S)?;
        let columns = [&x[..EPISODE], &y[..EPISODE]];
        let runs = SAMPLES / EPISODE;
        let sample = best(|| {
            for _ in 0..runs {
                black_box(bound.evaluate(black_box(&columns), TraceEnd::Complete));
            }
        });
        println!("{:>8.1} {:>8}  {text}", sample * EPISODE as f64 / 1000.0, "");
    }
    Ok(())
}

/// Returns the minimum time of several rounds, in ns per sample.
fn best(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e9 / SAMPLES as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
