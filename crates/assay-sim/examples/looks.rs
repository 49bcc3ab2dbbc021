//! What an image of the observation costs: ms of the first one, which opens OpenGL, and of the others.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use assay_scenario::Library;
use assay_sim::World;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::open(&root.join("scenarios"), &root.join("robots"))?;
    let world = World::build(Arc::new(library.find("stack_by_sight")?))?;
    let mut simulation = world.simulation(0)?;
    let mut bytes = Vec::new();
    let start = Instant::now();
    simulation.observe(&mut bytes)?;
    println!("first {:?}", start.elapsed());
    let mut total = 0.0;
    for _ in 0..20 {
        simulation.act(&[0.1; 7]);
        for _ in 0..100 {
            simulation.step()?;
        }
        bytes.clear();
        let start = Instant::now();
        simulation.observe(&mut bytes)?;
        total += start.elapsed().as_secs_f64();
    }
    println!("an image {:.1} ms", total / 40.0 * 1e3);
    Ok(())
}
