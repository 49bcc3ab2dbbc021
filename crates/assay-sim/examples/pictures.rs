//! Measures the CPU time to draw frames of a video. For `bench/`: writes the model with its visual settings
//! (`model.mjb`) and, for each frame, the state and the camera (`frames.bin`) into a folder, so that another renderer
//! can draw the same frames, and prints the mean CPU time of a frame in ms.
//!
//! `pictures SCENARIO WIDTH HEIGHT FRAMES FOLDER`
#![expect(clippy::print_stdout, reason = "its output is the measurement")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use assay_scenario::Library;
use assay_sim::{CompiledScenario, Framing, Quality, Renderer};

/// Number of control steps between two frames.
const STEPS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [id, width, height, frames, folder] = arguments.as_slice() else {
        return Err("usage: pictures SCENARIO WIDTH HEIGHT FRAMES FOLDER".into());
    };
    let (width, height, frames): (u32, u32, u32) = (width.parse()?, height.parse()?, frames.parse()?);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::open(&root.join("scenarios"), &root.join("robots"))?;
    let world = CompiledScenario::build_to_draw(Arc::new(library.find(id)?), width, height, Quality::Frame)?;
    let mut simulation = world.simulation(1)?;
    let mut framing = Framing::new(&simulation, f64::from(width) / f64::from(height))?;
    let mut renderer = Renderer::framed(&mut simulation, (width, height), Quality::Frame, framing.clone())?;
    // The first frame initialises OpenGL.
    renderer.draw(&mut simulation)?;
    fs::write(Path::new(folder).join("model.mjb"), simulation.model_bytes())?;
    let action: Vec<f64> = world.scenario().control.action.iter().map(|a| a.low + 0.52 * (a.high - a.low)).collect();
    let (mut drawing_ms, mut numbers) = (0.0, Vec::new());
    for _ in 0..frames {
        for _ in 0..STEPS {
            simulation.act(&action);
            for _ in 0..world.scenario().decimation() {
                simulation.step()?;
            }
        }
        numbers.extend(simulation.integration_state());
        numbers.extend(framing.pose(&simulation).ok_or("nothing to frame")?);
        let start_ms = cpu_ms()?;
        renderer.draw(&mut simulation)?;
        drawing_ms += cpu_ms()? - start_ms;
    }
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(Path::new(folder).join("frames.bin"), bytes)?;
    println!("frame {} ms", drawing_ms / f64::from(frames));
    Ok(())
}

/// Returns the CPU time of all threads of this process in ms, with a resolution of the kernel's tick.
fn cpu_ms() -> Result<f64, Box<dyn Error>> {
    // User and system time are the fields 14 and 15 of proc(5), in hundredths of a second on Linux.
    const TICK_MS: f64 = 10.0;
    let text = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let [user, system] = fields.get(11..13).ok_or("/proc/self/stat has too few fields")? else {
        return Err("/proc/self/stat has too few fields".into());
    };
    Ok(TICK_MS * (user.parse::<f64>()? + system.parse::<f64>()?))
}
