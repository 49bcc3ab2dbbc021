//! Checks of the images in the observation: names, sizes, rates, and their cost altogether.

use std::collections::BTreeSet;

use crate::cameras::{declared, pixels_per_s, sent_bytes_per_s};
use crate::schema::Document;
use crate::whole::whole;
use crate::{
    DEFAULT_IMAGE_HZ, IMAGE_HEIGHT, IMAGE_PREFIX, IMAGE_WIDTH, MAX_CAMERAS, MAX_IMAGE_BYTES_PER_S, MAX_PIXELS_PER_S,
    Observation, ObservationKind, RENDER_PROFILES, ScenarioError,
};

use super::identifiers::is_name;

/// Checks the images; the names of all observations are already known to differ.
pub(super) fn check_images(document: &Document) -> Result<(), ScenarioError> {
    let control_hz = document.world.control_hz;
    for observation in &document.observation {
        check_image(observation, control_hz).map_err(|(part, problem)| {
            ScenarioError::value(format!("observation {:?}.{part}", observation.name), problem)
        })?;
    }
    let camera = |o: &Observation| declared(&o.name, &o.kind, control_hz);
    let cameras: Vec<_> = document.observation.iter().filter_map(camera).collect();
    let names: BTreeSet<_> = document.observation.iter().map(|observation| observation.name.as_str()).collect();
    if let Some(taken) = cameras.iter().find(|camera| camera.depth && names.contains(camera.depth_key().as_str())) {
        let problem = format!("is also the name of the depth of {:?}; rename it", taken.image_key());
        return Err(ScenarioError::value(format!("observation {:?}", taken.depth_key()), problem));
    }
    let fail = |problem: String| Err(ScenarioError::value("observation", problem));
    if cameras.len() > MAX_CAMERAS {
        return fail(format!("{} images, but at most {MAX_CAMERAS} are allowed; remove some", cameras.len()));
    }
    let pixels = pixels_per_s(&cameras);
    if pixels > MAX_PIXELS_PER_S {
        return fail(format!(
            "its images have {:.1} million pixels per simulated second, but at most {:.0} are allowed (a depth image \
             counts like an image); reduce width, height or rate_hz",
            pixels / 1e6,
            MAX_PIXELS_PER_S / 1e6
        ));
    }
    let bytes = sent_bytes_per_s(&cameras, control_hz);
    if bytes > MAX_IMAGE_BYTES_PER_S {
        return fail(format!(
            "its images have {:.0} MB per simulated second, since each is sent at every control step, but at most {:.0} \
             are allowed; reduce width, height or control_hz",
            bytes / 1e6,
            MAX_IMAGE_BYTES_PER_S / 1e6
        ));
    }
    Ok(())
}

/// Checks the render profile, which only a scenario with images has.
pub(super) fn check_render_profile(document: &Document) -> Result<(), ScenarioError> {
    let Some(profile) = document.render_profile else { return Ok(()) };
    let fail = |problem: String| Err(ScenarioError::value("render_profile", problem));
    if !RENDER_PROFILES.contains(&profile) {
        let (first, last) = (RENDER_PROFILES.start(), RENDER_PROFILES.end());
        return fail(format!("is {profile}, but this version draws images with profiles {first} to {last} only"));
    }
    if !document.observation.iter().any(|o| matches!(o.kind, ObservationKind::Image { .. })) {
        return fail("is only for images, and the observation has none; remove it".to_owned());
    }
    Ok(())
}

/// Checks that the rates of images divide the control rate. Earlier releases accepted other rates up to
/// [`DEFAULT_IMAGE_HZ`], so this applies only to scenarios that an author names, not to stored versions.
pub(super) fn check_rates(observations: &[Observation], control_hz: f64) -> Result<(), ScenarioError> {
    for observation in observations {
        let ObservationKind::Image { rate_hz: Some(rate_hz), .. } = observation.kind else { continue };
        check_rate(rate_hz, control_hz)
            .map_err(|problem| ScenarioError::value(format!("observation {:?}.rate_hz", observation.name), problem))?;
    }
    Ok(())
}

fn check_rate(rate_hz: f64, control_hz: f64) -> Result<(), String> {
    if whole(control_hz / rate_hz).is_some() {
        return Ok(());
    }
    let steps = (control_hz / rate_hz).floor().max(1.0);
    let (above, below) = (control_hz / steps, control_hz / (steps + 1.0));
    Err(format!(
        "must leave a whole number of control steps between images ({control_hz} per second); the nearest rates are \
         {below:.4} and {above:.4}"
    ))
}

/// Checks an image's settings; an error contains the key and the remedy.
fn check_image(observation: &Observation, control_hz: f64) -> Result<(), (&'static str, String)> {
    let ObservationKind::Image { width, height, rate_hz, .. } = observation.kind else { return Ok(()) };
    if !observation.name.strip_prefix(IMAGE_PREFIX).is_some_and(is_name) {
        return Err(("name", format!("must be {IMAGE_PREFIX}NAME, NAME of a-z, 0-9, '_' and '-'")));
    }
    for (key, pixels, range) in [("width", width, IMAGE_WIDTH), ("height", height, IMAGE_HEIGHT)] {
        if !range.contains(&pixels) {
            return Err((key, format!("must be {} to {} pixels", range.start(), range.end())));
        }
    }
    if let Some(rate_hz) = rate_hz {
        let most_hz = control_hz.max(DEFAULT_IMAGE_HZ);
        if !(rate_hz > 0.0 && rate_hz <= most_hz) {
            return Err(("rate_hz", format!("must be above 0 and at most the control rate, {control_hz} per second")));
        }
        if rate_hz > DEFAULT_IMAGE_HZ {
            check_rate(rate_hz, control_hz).map_err(|problem| ("rate_hz", problem))?;
        }
    }
    if observation.noise != 0.0 {
        return Err(("noise", "is only for numbers, not for images; remove it".to_owned()));
    }
    Ok(())
}
