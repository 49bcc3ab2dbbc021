//! Cameras as rigs have them: any size and rate, several in one world, depth in metres.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use assay_model::frame::{ArraySpec, Dtype};
use assay_sim::{CompiledScenario, Simulation};

use crate::common::Scene;

/// A camera 3 m high, which looks down at the cart (its top is 1.1 m high, 0.2 m square) and at nothing else, one
/// beside it, and one at the height of the cart.
const SEEN: &str = "<camera name='top' pos='0 0 3' fovy='60'/><camera name='near' pos='0.1 0 2' fovy='40'/>\
                    <camera name='side' pos='0 -2 1' xyaxes='1 0 0 0 0 1' fovy='45'/>\
                    <light pos='0 0 4' dir='0 0 -1'/><!--more-->";

/// Returns a world that observes these images, each a camera and further keys. `scene` is added to it.
fn world(images: &[(&str, &str)], scene: &str) -> CompiledScenario {
    let entry = |(camera, keys): &(&str, &str)| {
        let keys = keys.replace(", ", "\n");
        format!("[[observation]]\nname = \"images/{camera}\"\nkind = \"image\"\ncamera = \"{camera}\"\n{keys}\n\n")
    };
    let facts: String = images.iter().map(entry).collect();
    let facts = facts + "[signals.height]";
    Scene::both("<!--more-->", &(SEEN.to_owned() + scene), "[signals.height]", &facts).build().unwrap()
}

/// Returns an array of the next observation.
fn array(simulation: &mut Simulation, name: &str) -> (ArraySpec, Vec<u8>) {
    let mut bytes = Vec::new();
    simulation.observe(&mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    for spec in simulation.observation_spec() {
        let (array, others) = rest.split_at(spec.size_bytes());
        if spec.name == name {
            return (spec, array.to_vec());
        }
        rest = others;
    }
    panic!("there is no array {name}");
}

fn depths(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

fn step(simulation: &mut Simulation, force: f64) {
    simulation.act(&[force]);
    (0..10).for_each(|_| simulation.step().unwrap());
}

#[test]
fn an_image_has_its_size_and_the_whole_width_of_its_view() {
    for (width, height) in [(640_u32, 480_u32), (16, 16), (640, 16), (16, 480), (100, 75)] {
        let keys = format!("width = {width}, height = {height}");
        let world = world(&[("top", &keys)], "");
        let (spec, image) = array(&mut world.simulation(1).unwrap(), "images/top");
        assert_eq!((spec.dtype, spec.shape), (Dtype::U8, vec![height, width, 3]));
        let lit = |pixel: &[u8]| pixel.iter().any(|channel| *channel > 60);
        let count = image.chunks_exact(3).filter(|pixel| lit(pixel)).count();
        // The cart's top, 0.2 m wide at a distance of 1.9 m, in a view of 2 tan(30 deg) 1.9 m from top to bottom.
        let side = 0.2 / (2.0 * 30_f64.to_radians().tan() * 1.9) * f64::from(height);
        let expected = side * side.min(f64::from(width));
        let margin = 2.0 * (side + side.min(f64::from(width))) + 4.0;
        assert!(
            (count as f64 - expected).abs() < margin,
            "{width} x {height}: {count} lit pixels, {expected} expected"
        );
    }
}

#[test]
fn a_camera_sees_the_same_alone_and_beside_others() {
    let all = [("top", "width = 64, height = 48"), ("near", ""), ("side", "width = 640, height = 480, depth = true")];
    let together = world(&all, "");
    let mut simulation = together.simulation(3).unwrap();
    for _ in 0..5 {
        step(&mut simulation, 1.0);
    }
    for (camera, keys) in all {
        let alone = world(&[(camera, keys)], "");
        let mut single = alone.simulation(3).unwrap();
        for _ in 0..5 {
            step(&mut single, 1.0);
        }
        let name = format!("images/{camera}");
        let ((_, one), (_, other)) = (array(&mut simulation, &name), array(&mut single, &name));
        assert!(one == other && one.iter().any(|byte| *byte > 60), "{camera} sees something else beside others");
    }
    let depth = array(&mut simulation, "depth/side").1;
    // Depth costs no colour: the same image without it.
    let plain = world(&[("side", "width = 640, height = 480")], "");
    let mut without = plain.simulation(3).unwrap();
    (0..5).for_each(|_| step(&mut without, 1.0));
    assert!(array(&mut without, "images/side").1 == array(&mut simulation, "images/side").1);
    assert!(depths(&depth).iter().any(|metres| *metres > 0.0));
}

#[test]
fn images_come_at_their_rates_to_the_end() {
    let images = [("top", "rate_hz = 50"), ("near", "rate_hz = 25"), ("side", "rate_hz = 10")];
    let world = world(&images, "");
    let mut simulation = world.simulation(3).unwrap();
    let mut bytes = Vec::new();
    for control_step in 0..500_u32 {
        bytes.clear();
        simulation.observe(&mut bytes).unwrap();
        let counts: Vec<u32> = simulation.images().map(|(count, _)| count).collect();
        let due = [control_step + 1, control_step / 2 + 1, control_step / 5 + 1];
        assert_eq!(counts, due, "control step {control_step}");
        // A second look at the same state draws nothing new.
        simulation.observe(&mut bytes).unwrap();
        assert!(simulation.images().map(|(count, _)| count).eq(due), "control step {control_step}, seen again");
        step(&mut simulation, 0.0);
    }
}

#[test]
fn depth_is_the_distance_along_the_optical_axis() {
    let keys = "width = 160, height = 120, depth = true";
    let alone = world(&[("top", keys)], "");
    let (spec, bytes) = array(&mut alone.simulation(1).unwrap(), "depth/top");
    assert_eq!((spec.dtype, spec.shape), (Dtype::F32, vec![120, 160]));
    let depth = depths(&bytes);
    // The cart's top is flat and perpendicular to the axis; beside it there is nothing.
    let seen: Vec<f32> = depth.iter().copied().filter(|metres| *metres != 0.0).collect();
    assert!((100..400).contains(&seen.len()), "{} pixels", seen.len());
    assert!(seen.iter().all(|metres| (metres - 1.9).abs() < 0.001), "{seen:?}");
    assert_eq!((depth[0], depth[159], depth[160 * 119]), (0.0, 0.0, 0.0));
    // A floor is as deep in the corners as in the middle, although the corners are farther away; a sky has no depth.
    let floor = "<geom name='floor' type='plane' size='9 9 0.1'/>";
    let (_, bytes) = array(&mut world(&[("top", keys)], floor).simulation(1).unwrap(), "depth/top");
    let depth = depths(&bytes);
    for corner in [0, 159, 160 * 119, 160 * 120 - 1] {
        assert!((depth[corner] - 3.0).abs() < 0.002, "{}", depth[corner]);
    }
    assert!((depth[160 * 60 + 80] - 1.9).abs() < 0.001, "{}", depth[160 * 60 + 80]);
    let (_, bytes) = array(&mut world(&[("side", keys)], floor).simulation(1).unwrap(), "depth/side");
    let depth = depths(&bytes);
    assert_eq!(depth[80], 0.0, "above the horizon");
    assert!(depth[160 * 119 + 80] > 1.0, "the floor before the camera: {}", depth[160 * 119 + 80]);
}

#[test]
fn a_sky_has_no_depth() {
    let sky = "<geom name='wall' type='box' size='0.1 0.1 0.1' pos='0 1 1.8'/></worldbody>\
               <asset><texture type='skybox' builtin='gradient' rgb1='0.4 0.6 0.8' rgb2='0 0 0' width='32' height='32'/>\
               </asset><worldbody>";
    let mut simulation = world(&[("side", "depth = true")], sky).simulation(1).unwrap();
    let (_, image) = array(&mut simulation, "images/side");
    assert!(image[2] > 20, "the sky is blue: {:?}", &image[..3]);
    assert_eq!(depths(&array(&mut simulation, "depth/side").1)[0], 0.0);
}

#[test]
fn depth_of_a_camera_that_does_not_exist_is_refused() {
    let facts = "[[observation]]\nname = \"images/none\"\nkind = \"image\"\ncamera = \"none\"\ndepth = true\n\n\
                 [signals.height]";
    let error = Scene::both("<!--more-->", SEEN, "[signals.height]", facts).build().unwrap_err().to_string();
    assert!(error.contains("observation \"images/none\"") && error.contains("camera \"none\""), "{error}");
}
