//! Properties of what an episode draws.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_model::Generator;
use assay_scenario::{Avoid, Distribution, Draw, DrawError, Placement, Scenario, draw};
use proptest::prelude::*;

use crate::folder::Folder;

thread_local! {
    static CARTPOLE: Scenario = Folder::of("cartpole_keepin").load().unwrap();
    static TABLETOP: Scenario = Folder::of("tabletop_reach").load().unwrap();
}

/// The cart-pole with other parameters and placements, and nothing set.
fn drawn(parameters: &[Distribution], placements: &[Placement], seed: u64) -> Result<Draw, DrawError> {
    let mut scenario = CARTPOLE.with(Clone::clone);
    scenario.parameters = parameters.iter().enumerate().map(|(i, d)| (format!("p{i}"), d.clone())).collect();
    scenario.placements = placements.to_vec();
    scenario.sets = Vec::new();
    draw(&scenario, &mut Generator::new(seed))
}

fn parameter(draw: &Draw, name: &str) -> f64 {
    draw.parameters.iter().find(|(key, _)| key == name).unwrap().1
}

fn region(bodies: usize, side: f64, spacing: f64, avoid: Vec<Avoid>) -> Placement {
    Placement {
        bodies: (0..bodies).map(|i| format!("b{i}")).collect(),
        x: [-side, side],
        y: [0.0, 2.0 * side],
        z: None,
        yaw: Some([-1.0, 0.5]),
        spacing,
        avoid,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_seed_is_all_that_counts(seed in any::<u64>()) {
        TABLETOP.with(|scenario| {
            let once = || draw(scenario, &mut Generator::new(seed)).unwrap();
            let bits = |draw: &Draw| draw.parameters.iter().map(|(_, x)| x.to_bits()).collect::<Vec<_>>();
            let (first, again) = (once(), once());
            prop_assert_eq!(bits(&first), bits(&again));
            prop_assert_eq!(&first, &again);
            let other = draw(scenario, &mut Generator::new(seed.wrapping_add(1))).unwrap();
            prop_assert_ne!(bits(&first), bits(&other));
            Ok(())
        })?;
    }

    #[test]
    fn uniform_stays_in_range(seed in any::<u64>(), low in -1e6..1e6_f64, width in 0.0..1e6_f64) {
        let draw = drawn(&[Distribution::Uniform { uniform: [low, low + width] }], &[], seed).unwrap();
        let x = parameter(&draw, "p0");
        prop_assert!((low..=low + width).contains(&x), "{x}");
    }

    #[test]
    fn normal_is_clipped(seed in any::<u64>(), mean in -5.0..5.0_f64, sd in 0.0..10.0_f64, low in -1.0..0.0_f64, width in 0.01..1.0_f64) {
        let draw = drawn(&[Distribution::Normal { normal: [mean, sd], clip: [low, low + width] }], &[], seed).unwrap();
        let x = parameter(&draw, "p0");
        prop_assert!((low..=low + width).contains(&x), "{x}");
    }

    #[test]
    fn choice_chooses_from_the_list(seed in any::<u64>(), choice in prop::collection::vec(-9.0..9.0_f64, 1..6)) {
        let draw = drawn(&[Distribution::Choice { choice: choice.clone() }], &[], seed).unwrap();
        prop_assert!(choice.contains(&parameter(&draw, "p0")));
    }

    #[test]
    fn placements_keep_their_distance(seed in any::<u64>(), bodies in 1..6_usize, spacing in 0.0..0.2_f64, x in -0.5..0.5_f64, y in 0.0..1.0_f64, radius in 0.0..0.2_f64) {
        let placement = region(bodies, 0.5, spacing, vec![Avoid { x, y, radius }]);
        let draw = drawn(&[], &[placement], seed).unwrap();
        let places: Vec<(f64, f64)> =
            (0..bodies).map(|i| (parameter(&draw, &format!("b{i}.x")), parameter(&draw, &format!("b{i}.y")))).collect();
        for (i, (px, py)) in places.iter().enumerate() {
            prop_assert!((-0.5..=0.5).contains(px) && (0.0..=1.0).contains(py), "{px} {py} is outside");
            prop_assert!((px - x).hypot(py - y) >= radius, "{px} {py} is in the circle");
            let yaw = parameter(&draw, &format!("b{i}.yaw"));
            prop_assert!((-1.0..=0.5).contains(&yaw), "{yaw}");
            for (qx, qy) in &places[..i] {
                prop_assert!((px - qx).hypot(py - qy) >= spacing, "{px} {py} is too near to {qx} {qy}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_told_soon() {
    let error = drawn(&[], &[region(3, 0.05, 0.5, Vec::new())], 1).unwrap_err();
    assert!(matches!(&error, DrawError::Crowded { body } if body == "b1"), "{error}");
    assert!(error.to_string().contains("widen x and y or lower spacing"), "{error}");
    assert!(error.to_string().contains("after 10000 tries"), "the search is bounded: {error}");
    let everywhere = Avoid { x: 0.0, y: 0.0, radius: 10.0 };
    let error = drawn(&[], &[region(1, 0.05, 0.0, vec![everywhere])], 1).unwrap_err();
    assert!(matches!(&error, DrawError::Crowded { body } if body == "b0"), "{error}");
}

#[test]
fn what_is_set_follows_the_parameters() {
    CARTPOLE.with(|scenario| {
        let draw = draw(scenario, &mut Generator::new(5)).unwrap();
        let side_lean = parameter(&draw, "side") * parameter(&draw, "lean");
        assert_eq!(draw.settings.len(), scenario.sets.len());
        assert_eq!(draw.settings[0].value.to_bits(), side_lean.to_bits());
    });
}

#[test]
fn a_value_that_is_no_number_is_an_error() {
    let folder = Folder::edited("cartpole_keepin", "value = \"side * lean\"", "value = \"side / (lean - lean)\"");
    let error = draw(&folder.load().unwrap(), &mut Generator::new(1)).unwrap_err();
    assert!(error.to_string().contains("inf"), "{error}");
}
