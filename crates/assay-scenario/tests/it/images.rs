//! Images in the observation: sizes, rates, depth, render profiles, their cost, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_scenario::{Scenario, ScenarioError};

use crate::folder::Folder;

/// The first term of `cartpole_keepin`'s observation, in whose place images are put.
const IMAGE_FOR: &str = "name = \"joint_position\"\nkind = \"joint_position\"\njoints = [\"slide\", \"hinge\"]";

/// Returns `cartpole_keepin` (50 Hz, 10 s) with these images, each the keys that follow `kind` and `camera`.
fn folder(images: &[&str]) -> Folder {
    let entry = |(index, keys): (usize, &&str)| {
        format!("name = \"images/i{index}\"\nkind = \"image\"\ncamera = \"overview\"\n{keys}\n")
    };
    let entries: Vec<_> = images.iter().enumerate().map(entry).collect();
    Folder::edited("cartpole_keepin", IMAGE_FOR, &entries.join("[[observation]]\n"))
}

fn named(folder: &Folder) -> Result<Scenario, ScenarioError> {
    Scenario::load_named(&folder.scenario(), &folder.robots())
}

#[test]
fn defaults_are_those_of_the_first_release() {
    let scenario = named(&folder(&["rate_hz = 5", ""])).unwrap();
    let found: Vec<_> = scenario.cameras().into_iter().map(|c| (c.width, c.height, c.rate_hz, c.depth)).collect();
    assert_eq!(found, [(224, 224, 5.0, false), (224, 224, 10.0, false)]);
    assert!(scenario.cameras().iter().all(|camera| camera.every_steps.is_none()), "drawn when they are due");
    assert_eq!((scenario.render_profile, scenario.card().render_profile), (1, Some(1)));
    let blind = Folder::of("cartpole_keepin").load().unwrap();
    assert_eq!((blind.image_cost(), blind.card().render_profile), (None, None));
}

#[test]
fn sizes_rates_and_depth_are_in_the_description() {
    let scenario =
        named(&folder(&["width = 640\nheight = 480\nrate_hz = 50\ndepth = true", "width = 16\nheight = 16"]));
    let spec = scenario.unwrap().spec();
    let arrays: Vec<_> = spec.observation.iter().map(|a| (a.name.as_str(), a.dtype, a.shape.clone())).collect();
    let expected = [
        ("images/i0", "uint8", vec![480, 640, 3]),
        ("depth/i0", "float32", vec![480, 640]),
        ("images/i1", "uint8", vec![16, 16, 3]),
    ];
    assert_eq!(arrays[..3], expected);
    assert_eq!((spec.observation[1].unit, spec.cameras[0].depth.as_deref()), ("m", Some("depth/i0")));
    let cost = spec.images.unwrap();
    // 50 images and as many depth images of 307,200 pixels, and 10 images of 256 pixels, in a second of 50 steps.
    assert!((cost.pixels_per_s - (100.0 * 307_200.0 + 10.0 * 256.0)).abs() < 1e-6, "{cost:?}");
    assert!((cost.sent_bytes_per_s - 50.0 * (7.0 * 307_200.0 + 3.0 * 256.0)).abs() < 1e-6, "{cost:?}");
    assert_eq!(cost.episode_bytes, 500 * 7 * 307_200 + 100 * 3 * 256);
    assert!(cost.cpu_s_per_s > 0.5 && cost.cpu_s_per_s < 1.5 && cost.render_profile == 1, "{cost:?}");
    assert!(cost.summary().contains("30.7 million pixels"), "{}", cost.summary());
}

/// The keys of images, and what the error must say.
type Refusal = (&'static [&'static str], &'static [&'static str]);

const REFUSED: &[Refusal] = &[
    (&["width = 0"], &["images/i0\".width", "16 to 640 pixels"]),
    (&["width = 15"], &["images/i0\".width", "16 to 640 pixels"]),
    (&["width = 641"], &["images/i0\".width", "16 to 640 pixels"]),
    (&["height = 481"], &["images/i0\".height", "16 to 480 pixels"]),
    (&["height = 0"], &["images/i0\".height", "16 to 480 pixels"]),
    (&["width = 1000000000"], &["images/i0\".width", "16 to 640 pixels"]),
    (&["width = -1"], &["line 55", "must be a whole number from 0"]),
    (&["width = 5000000000"], &["line 55", "whole number"]),
    (&["width = 1e9"], &["line 55", "whole number"]),
    (&["height = nan"], &["line 55", "whole number"]),
    (&["rate_hz = 0"], &["images/i0\".rate_hz", "above 0 and at most the control rate, 50"]),
    (&["rate_hz = -5"], &["images/i0\".rate_hz", "above 0"]),
    (&["rate_hz = nan"], &["images/i0\".rate_hz", "above 0"]),
    (&["rate_hz = inf"], &["images/i0\".rate_hz", "above 0"]),
    (&["rate_hz = 1e9"], &["images/i0\".rate_hz", "at most the control rate, 50"]),
    (&["rate_hz = 51"], &["images/i0\".rate_hz", "at most the control rate, 50"]),
    (&["rate_hz = 49.9"], &["images/i0\".rate_hz", "whole number of control steps", "25.0000 and 50.0000"]),
    (&["rate_hz = 30"], &["images/i0\".rate_hz", "whole number of control steps", "25.0000 and 50.0000"]),
    (&["rate_hz = 11"], &["images/i0\".rate_hz", "whole number of control steps", "10.0000 and 12.5000"]),
    (&["noise = 1"], &["images/i0\".noise", "remove it"]),
    (&["depth = 1"], &["line 55", "true or false"]),
    (&["depths = true"], &["depths", "is not known"]),
    (&["", "", "", "", ""], &["observation", "5 images, but at most 4"]),
    (
        &["width = 640\nheight = 480\nrate_hz = 50\ndepth = true", "width = 640\nheight = 480\nrate_hz = 50"],
        &["observation", "46.1 million pixels", "at most 40", "reduce width, height or rate_hz"],
    ),
];

#[test]
fn bad_images_are_refused() {
    for (images, words) in REFUSED {
        let error = named(&folder(images)).err().unwrap_or_else(|| panic!("accepted {images:?}"));
        let message = error.to_string();
        for word in ["scenario.toml"].iter().chain(*words) {
            assert!(message.contains(word), "{images:?} should say {word:?}, but says:\n{message}");
        }
    }
}

/// Names of images and of other observations, and render profiles: what replaces [`IMAGE_FOR`] or the head.
#[test]
fn bad_names_and_profiles_are_refused() {
    let image = |name: &str| format!("name = \"{name}\"\nkind = \"image\"\ncamera = \"overview\"\n");
    let joints = |name: &str| IMAGE_FOR.replacen("joint_position", name, 1);
    let depth = format!("{}depth = true\n[[observation]]\n{}", image("images/a"), joints("depth/a"));
    let cases: [(&str, String, &[&str]); 8] = [
        (IMAGE_FOR, image("front"), &["front\".name", "images/NAME"]),
        (IMAGE_FOR, image("images/a b"), &["images/a b\".name", "images/NAME"]),
        (IMAGE_FOR, image("images/"), &["images/\".name", "images/NAME"]),
        (IMAGE_FOR, depth, &["observation \"depth/a\"", "the depth of \"images/a\"", "rename it"]),
        (IMAGE_FOR, format!("{IMAGE_FOR}\ndepth = true"), &["depth", "is not known"]),
        ("difficulty = 1", "difficulty = 1\nrender_profile = 1".into(), &["render_profile", "remove it"]),
        ("difficulty = 1", "difficulty = 1\nrender_profile = 0".into(), &["render_profile", "profiles 1 to 1 only"]),
        ("difficulty = 1", "difficulty = 1\nrender_profile = 2".into(), &["render_profile", "profiles 1 to 1 only"]),
    ];
    for (old, new, words) in cases {
        let error = Folder::edited("cartpole_keepin", old, &new).load().err();
        let message = error.unwrap_or_else(|| panic!("accepted {new:?}")).to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{new:?} should say {words:?}, but says:\n{message}");
    }
    let other = format!("{}\n[[observation]]\n{}", joints("depth/a"), image("images/a"));
    Folder::edited("cartpole_keepin", IMAGE_FOR, &other).load().unwrap();
}

#[test]
fn stored_versions_keep_rates_that_do_not_divide() {
    let slow = folder(&["rate_hz = 3"]);
    let camera = slow.load().unwrap().cameras().remove(0);
    assert_eq!((camera.rate_hz, camera.every_steps), (3.0, None));
    let message = named(&slow).unwrap_err().to_string();
    assert!(message.contains("images/i0\".rate_hz") && message.contains("2.9412 and 3.1250"), "{message}");
    assert!(slow.load().unwrap().check_community().unwrap_err().to_string().contains("rate_hz"));
    // Higher rates are new, so they always divide.
    assert!(folder(&["rate_hz = 12"]).load().is_err());
    let fast = folder(&["rate_hz = 25"]);
    assert_eq!(fast.load().unwrap().cameras()[0].every_steps, Some(2));
}
