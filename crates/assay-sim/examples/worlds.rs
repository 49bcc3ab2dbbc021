//! Measures the time to compile a scenario and to render an image of its observation. For `bench/`: prints a line per
//! scenario, one for the image, and last one for the control step that both are compared with, in ms.
#![expect(clippy::print_stdout, reason = "its output is the measurement")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use assay_model::frame::Dtype;
use assay_scenario::Library;
use assay_sim::CompiledScenario;

/// Number of compilations of each scenario; the fastest counts, because other load only adds time.
const COMPILATIONS: u32 = 5;
/// Number of control steps between two images, and number of images.
const LOOKS: (u32, u32) = (10, 20);

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::open(&root.join("scenarios"), &root.join("robots"))?;
    for scenario in library.scenarios() {
        let scenario = Arc::new(scenario.clone());
        let mut least_ms = f64::INFINITY;
        for _ in 0..COMPILATIONS {
            let start = Instant::now();
            CompiledScenario::build(Arc::clone(&scenario))?;
            least_ms = least_ms.min(ms(start));
        }
        println!("compile {} {least_ms} ms", scenario.id);
    }
    let world = CompiledScenario::build(Arc::new(library.find("stack_by_sight")?))?;
    let (image_ms, step_ms) = looks(&world)?;
    println!("image {image_ms} ms");
    println!("step {step_ms} ms");
    Ok(())
}

/// Returns the time of an image and that of a control step, in ms.
fn looks(world: &CompiledScenario) -> Result<(f64, f64), Box<dyn Error>> {
    let mut simulation = world.simulation(0)?;
    let mut bytes = Vec::new();
    // The first observation initialises OpenGL.
    simulation.observe(&mut bytes)?;
    let cameras = simulation.observation_spec().iter().filter(|array| array.dtype == Dtype::U8).count() as f64;
    let (mut looking, mut stepping) = (0.0, 0.0);
    for _ in 0..LOOKS.1 {
        let start = Instant::now();
        for _ in 0..LOOKS.0 {
            simulation.act(&[0.1; 7]);
            for _ in 0..world.scenario().decimation() {
                simulation.step()?;
            }
        }
        stepping += ms(start);
        bytes.clear();
        let start = Instant::now();
        simulation.observe(&mut bytes)?;
        looking += ms(start);
    }
    Ok((looking / (cameras * f64::from(LOOKS.1)), stepping / f64::from(LOOKS.0 * LOOKS.1)))
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
