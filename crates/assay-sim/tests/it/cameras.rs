//! Images in the observation: what is seen is right, comes as often as said, and drawing it changes no physics.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use assay_model::frame::Dtype;
use assay_scenario::DEFAULT_IMAGE_SIDE;
use assay_sim::{CompiledScenario, Simulation};

use crate::common::Scene;

const SIDE: usize = DEFAULT_IMAGE_SIDE as usize;
/// A camera and a lamp above the cart; everything else is black.
const SEEN: &str = "<camera name='top' pos='0 0 3' fovy='60'/><light pos='0 0 4' dir='0 0 -1'/><!--more-->";
const LOOKS: &str = "[[observation]]\nname = \"images/top\"\nkind = \"image\"\ncamera = \"top\"\nrate_hz = 5\n\n\
                     [signals.height]";

fn world(looks: &str) -> CompiledScenario {
    Scene::both("<!--more-->", SEEN, "[signals.height]", looks).build().unwrap()
}

/// The image that stands at the end of the observation.
fn image(simulation: &mut Simulation) -> Vec<u8> {
    let mut bytes = Vec::new();
    simulation.observe(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 8 + 3 * SIDE * SIDE, "one joint and the image");
    bytes.split_off(8)
}

/// Mean column of the bright pixels.
fn middle(image: &[u8]) -> f64 {
    let bright = |pixel: &[u8]| pixel.iter().any(|channel| *channel > 60);
    let columns: Vec<f64> =
        image.chunks_exact(3).enumerate().filter(|(_, p)| bright(p)).map(|(i, _)| (i % SIDE) as f64).collect();
    assert!(columns.len() > 100, "nothing is seen");
    columns.iter().sum::<f64>() / columns.len() as f64
}

#[test]
fn a_camera_sees_the_cart_move_five_times_a_second() {
    let world = world(LOOKS);
    let mut simulation = world.simulation(3).unwrap();
    let spec = simulation.observation_spec();
    assert_eq!(
        (spec[1].name.as_str(), spec[1].dtype, spec[1].shape.clone()),
        ("images/top", Dtype::U8, vec![224, 224, 3])
    );
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for step in 0..50 {
        let seen = image(&mut simulation);
        let due = step % 10 == 0;
        assert_eq!(frames.last() != Some(&seen), due, "control step {step}: an image every 0.2 s and none between");
        if due {
            frames.push(seen);
        }
        simulation.act(&[1.0]);
        (0..10).for_each(|_| simulation.step().unwrap());
    }
    assert_eq!(frames.len(), 5);
    // The camera is 2 m above the cart and looks down: the cart goes to the right as it goes along x.
    let places: Vec<f64> = frames.iter().map(|frame| middle(frame)).collect();
    assert!((places[0] - 111.5).abs() < 1.5, "the cart starts in the middle: {places:?}");
    assert!(places.windows(2).all(|pair| pair[1] > pair[0] + 0.4), "it goes right: {places:?}");
}

#[test]
fn images_repeat_to_the_bit_and_change_nothing() {
    let run = |world: &CompiledScenario| {
        let mut simulation = world.simulation(5).unwrap();
        let mut hash = simulation.start_hash();
        let mut bytes = Vec::new();
        for _ in 0..30 {
            simulation.observe(&mut bytes).unwrap();
            simulation.act(&[0.5]);
            (0..10).for_each(|_| simulation.step().unwrap());
            let action = simulation.action().to_vec();
            hash.step(simulation.integration_state(), &action);
        }
        (hash.digest().to_string(), bytes)
    };
    let (seeing, blind) = (world(LOOKS), world("[signals.height]"));
    let (hash, images) = run(&seeing);
    assert_eq!((hash.clone(), images), run(&seeing), "the same world looks the same");
    assert_eq!(hash, run(&blind).0, "whoever looks changes nothing");
}

#[test]
fn a_camera_that_is_not_there_is_told() {
    let looks = LOOKS.replace("camera = \"top\"", "camera = \"bottom\"");
    let error = Scene::both("<!--more-->", SEEN, "[signals.height]", &looks).build().unwrap_err().to_string();
    assert!(error.contains("images/top") && error.contains("camera \"bottom\""), "{error}");
}
