//! The images of the scenarios that ship are those of the releases before sizes, rates and render profiles existed, to
//! the bit: a changed image would change the actions of policies, and the hashes of their traces.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::fmt::Write;

use assay_model::Sha256Digest;
use assay_model::frame::{ArraySpec, Dtype};

use crate::common::{built_in, control_step};

/// A line per image: scenario, array, control step, SHA-256, and the mean of each colour in each of 16 x 16 blocks as
/// hexadecimal bytes. Written by the sources of 2026-11-24, with Mesa's llvmpipe.
const RECORDED: &str = include_str!("../data/images.txt");
/// Set to the path of a file to write the lines of this version to.
const WRITE: &str = "ASSAY_WRITE_IMAGES";
const SIDE: usize = 224;
const BLOCK: usize = 14;
/// A velocity of the tool that moves both cameras' view.
const ACTION: [f64; 7] = [0.1, -0.05, -0.1, 0.0, 0.0, 0.5, -1.0];

fn bytes(spec: &ArraySpec) -> usize {
    spec.shape.iter().product::<u32>() as usize * if spec.dtype == Dtype::F64 { 8 } else { 1 }
}

/// Returns the mean colours of an image's blocks, row by row.
fn means(image: &[u8]) -> Vec<u8> {
    assert_eq!(image.len(), 3 * SIDE * SIDE);
    let blocks = SIDE / BLOCK;
    let mut sums = vec![0_usize; 3 * blocks * blocks];
    for (i, value) in image.iter().enumerate() {
        let (pixel, channel) = (i / 3, i % 3);
        let (row, column) = (pixel / SIDE / BLOCK, pixel % SIDE / BLOCK);
        sums[3 * (row * blocks + column) + channel] += usize::from(*value);
    }
    sums.into_iter().map(|sum| u8::try_from(sum / (BLOCK * BLOCK)).unwrap()).collect()
}

/// Returns the lines of a scenario's images, in the world with seed 3.
fn lines(id: &str) -> Vec<String> {
    let world = built_in(id);
    let mut simulation = world.simulation(3).unwrap();
    let specs = simulation.observation_spec();
    let mut found = Vec::new();
    for step in 0..=50 {
        let mut observation = Vec::new();
        simulation.observe(&mut observation).unwrap();
        let mut rest = observation.as_slice();
        for spec in &specs {
            let (array, others) = rest.split_at(bytes(spec));
            rest = others;
            if spec.dtype == Dtype::U8 && step % 25 == 0 {
                let digest = Sha256Digest::of(array);
                let mut line = format!("{id} {} {step} {digest} ", spec.name);
                means(array).iter().for_each(|mean| write!(line, "{mean:02x}").unwrap());
                found.push(line);
            }
        }
        control_step(&world, &mut simulation, &ACTION);
    }
    found
}

/// Another machine may draw single pixels one level brighter or darker (`docs/scenarios.md`): then the means agree.
fn looks_alike(found: &str, recorded: &str) -> bool {
    let means = |text: &str| -> Vec<i32> {
        let digits = text.as_bytes().chunks(2);
        digits.map(|two| i32::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    };
    let (found, recorded) = (means(found), means(recorded));
    found.len() == recorded.len() && found.iter().zip(&recorded).all(|(a, b)| (a - b).abs() <= 1)
}

#[test]
fn images_are_those_of_earlier_releases() {
    let found: Vec<String> = ["stack_by_sight", "tidy_by_sight"].iter().flat_map(|id| lines(id)).collect();
    if let Ok(path) = std::env::var(WRITE) {
        std::fs::write(path, found.join("\n") + "\n").unwrap();
    }
    let recorded: Vec<&str> = RECORDED.lines().collect();
    assert_eq!(found.len(), recorded.len());
    let mut equal = 0;
    for (found, recorded) in found.iter().zip(&recorded) {
        let (found, recorded): (Vec<_>, Vec<_>) = (found.split(' ').collect(), recorded.split(' ').collect());
        assert_eq!(found[..3], recorded[..3]);
        equal += usize::from(found[3] == recorded[3]);
        assert!(found[3] == recorded[3] || looks_alike(found[4], recorded[4]), "{:?} looks different", &found[..3]);
    }
    eprintln!("{equal} of {} images are equal to the bit", recorded.len());
}
