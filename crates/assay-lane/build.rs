//! Sets the run-time search path for MuJoCo: the installation's `vendor`, from `bin/` or `target/PROFILE/`, and for
//! tests the folder where `tools/setup` installed it. With `ASSAY_RELOCATABLE`, the program contains no path of this
//! machine.

use std::path::Path;

const RELATIVE: &str = "$ORIGIN/../vendor/mujoco/lib:$ORIGIN/../../vendor/mujoco/lib";

fn main() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vendor/mujoco/lib");
    let Ok(dir) = dir.canonicalize() else {
        panic!("{} is missing: run `make setup` first", dir.display());
    };
    println!("cargo::rerun-if-changed={}", dir.display());
    println!("cargo::rerun-if-env-changed=ASSAY_RELOCATABLE");
    let here = std::env::var_os("ASSAY_RELOCATABLE").is_none().then(|| format!(":{}", dir.display()));
    println!("cargo::rustc-link-arg=-Wl,-rpath,{RELATIVE}{}", here.unwrap_or_default());
}
