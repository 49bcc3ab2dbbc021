//! Sets the run-time search path for MuJoCo: the folder of the binary, or the folder where `tools/setup` installed it.

use std::path::Path;

fn main() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vendor/mujoco/lib");
    let Ok(dir) = dir.canonicalize() else {
        panic!("{} is missing: run `make setup` first", dir.display());
    };
    println!("cargo::rustc-link-arg=-Wl,-rpath,$ORIGIN/../lib:$ORIGIN:{}", dir.display());
    println!("cargo::rerun-if-changed={}", dir.display());
}
