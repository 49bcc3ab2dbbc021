//! Measures the microseconds that formulas take on a recorded trace; `bench/run --only stl` compares them with rtamt
//! and scipy.
//!
//! `cargo run --release -p assay-stl --example offline -- SAMPLES.csv FORMULA...` with columns `x,y` (no header), one
//! sample every 2 ms. Prints one line per formula: robustness and microseconds (best of several rounds).
#![expect(clippy::print_stdout, reason = "prints its measurements")]
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use assay_stl::{Formula, TraceEnd};

const PERIOD_S: f64 = 0.002;
const ROUNDS: usize = 7;
/// Samples per round, regardless of the trace's length.
const SAMPLES_A_ROUND: usize = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read_to_string(arguments.next().ok_or("specify the file of samples")?)?;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (a, b) = line.split_once(',').ok_or("a line must have two numbers")?;
        x.push(a.parse::<f64>()?);
        y.push(b.parse::<f64>()?);
    }
    for formula in arguments {
        let bound = Formula::parse(&formula, &[])?.bind(&["x", "y"], PERIOD_S)?;
        let columns: [&[f64]; 2] = [&x, &y];
        let runs = (SAMPLES_A_ROUND / x.len()).max(1);
        let best = (0..ROUNDS).map(|_| {
            let start = Instant::now();
            for _ in 0..runs {
                black_box(bound.evaluate(black_box(&columns), TraceEnd::Complete));
            }
            start.elapsed().as_secs_f64() * 1e6 / runs as f64
        });
        let robustness = bound.evaluate(&columns, TraceEnd::Complete).robustness;
        println!("{robustness} {}", best.fold(f64::INFINITY, f64::min));
    }
    Ok(())
}
