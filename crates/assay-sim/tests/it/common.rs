//! Worlds to try things on.

#![expect(clippy::unwrap_used, reason = "fixtures are known to be right")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use assay_scenario::{Library, Scenario};
use assay_sim::{CompiledScenario, Simulation};
use tempfile::TempDir;

/// A slide with a motor, and room for more.
const SCENE: &str = "<mujoco>
  <option timestep='0.002' integrator='implicitfast'/>
  <worldbody>
    <camera name='overview' pos='0 -2 1' xyaxes='1 0 0 0 0.4 0.9'/>
    <site name='mount' pos='1 0 0'/>
    <body name='cart' pos='0 0 1'>
      <joint name='slide' type='slide' axis='1 0 0'/>
      <geom name='cart' type='box' size='0.1 0.1 0.1' mass='1'/>
    </body>
    <!--more-->
  </worldbody>
  <actuator><motor name='push' joint='slide' gear='1'/></actuator>
</mujoco>";

const FACTS: &str = r#"format = 1
id = "tiny"
version = "1.0.0"
name = "Tiny"
description = "A cart on a rail."
difficulty = 1
max_score = 1
time_limit_s = 10

[world]
scene = "scene.xml"
timestep_s = 0.002
control_hz = 50

[groups]
cart = ["cart"]

[control]
mode = "actuator"
actuators = ["push"]
[[control.action]]
name = "force"
low = -1
high = 1
unit = "N"

[parameters]
mass = { uniform = [0.5, 2.0] }

[[set]]
target = "body:cart.mass"
value = "mass"

[[observation]]
name = "slide"
kind = "joint_position"
joints = ["slide"]

[signals.height]
kind = "position"
of = "body:cart"
axis = "z"

[success]
when = "height >= 100"

[camera]
name = "overview"
"#;

/// A scenario in a folder of its own.
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    /// The tiny scene with the first `old` of `scene.xml` replaced; a ball in it takes the signal `height`.
    pub(crate) fn with(old: &str, new: &str) -> Self {
        let facts = if new.contains("name='ball'") {
            FACTS.replace("body:cart\"\naxis", "body:ball\"\naxis")
        } else {
            FACTS.into()
        };
        assert!(SCENE.contains(old), "the scene does not hold {old:?}");
        Self::of(&SCENE.replacen(old, new, 1), &facts)
    }

    /// The tiny scene with the first `old` of `scenario.toml` replaced.
    pub(crate) fn told(old: &str, new: &str) -> Self {
        assert!(FACTS.contains(old), "the facts do not hold {old:?}");
        Self::of(SCENE, &FACTS.replacen(old, new, 1))
    }

    /// Both: the first `old` of `scene.xml` and the first `told` of `scenario.toml` replaced.
    pub(crate) fn both(old: &str, new: &str, told: &str, facts: &str) -> Self {
        assert!(SCENE.contains(old) && FACTS.contains(told), "the scene or the facts do not hold {old:?}, {told:?}");
        Self::of(&SCENE.replacen(old, new, 1), &FACTS.replacen(told, facts, 1))
    }

    fn of(scene: &str, facts: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [("scene.xml", scene), ("scenario.toml", facts), ("README.md", "A cart on a rail.")] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        Self { folder }
    }

    /// Some scenes are refused when their files are read, others when MuJoCo makes a world of them.
    pub(crate) fn build(&self) -> Result<CompiledScenario, Box<dyn std::error::Error>> {
        let robots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots");
        Ok(CompiledScenario::build(Arc::new(Scenario::load(self.folder.path(), &robots)?))?)
    }
}

/// A built-in scenario's world.
pub(crate) fn built_in(id: &str) -> CompiledScenario {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let library = Library::open(&root.join("scenarios"), &root.join("robots")).unwrap();
    CompiledScenario::build(Arc::new(library.find(id).unwrap())).unwrap()
}

/// The numbers of an observation's term.
pub(crate) fn observed(simulation: &mut Simulation, name: &str) -> Vec<f64> {
    let mut bytes = Vec::new();
    simulation.observe(&mut bytes).unwrap();
    let mut at = 0;
    for spec in simulation.observation_spec() {
        let count = spec.shape.iter().product::<u32>() as usize;
        if spec.name == name {
            let numbers = bytes[at * 8..(at + count) * 8].chunks_exact(8);
            return numbers.map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect();
        }
        at += count;
    }
    panic!("there is no term {name}");
}

pub(crate) fn control_step(world: &CompiledScenario, simulation: &mut Simulation, action: &[f64]) {
    simulation.act(action);
    (0..world.scenario().decimation()).for_each(|_| simulation.step().unwrap());
}
