//! A scenario with cameras of several sizes and rates and with depth, and a policy whose actions depend on every byte
//! of its observations.

use std::path::PathBuf;

use assay_testkit::Assay;

/// Images of the copy of `cartpole_keepin`, with noise on another observation.
const IMAGES: &str = "[[observation]]
name = \"images/front\"
kind = \"image\"
camera = \"overview\"
width = 160
height = 120
rate_hz = 25
depth = true
[[observation]]
name = \"noisy\"
kind = \"joint_position\"
joints = [\"slide\"]
noise = 0.1
[[observation]]
name = \"images/large\"
kind = \"image\"
camera = \"overview\"
width = 640
height = 480
rate_hz = 2
[[observation]]
";

/// Its action is a hash of the observation, in [-24, 24): half of the actions are clipped.
pub(crate) const POLICY: &str = "
import hashlib
import numpy as np

NAMES = ('joint_position', 'joint_velocity', 'images/front', 'depth/front', 'noisy', 'images/large')


class Policy:
    def act(self, observation):
        assert observation['images/front'].shape == (120, 160, 3), observation['images/front'].shape
        assert observation['depth/front'].shape == (120, 160) and observation['depth/front'].dtype == np.float32
        assert observation['images/large'].shape == (480, 640, 3)
        digest = hashlib.sha256()
        for name in NAMES:
            digest.update(np.ascontiguousarray(observation[name]).tobytes())
        return np.array([48.0 * int.from_bytes(digest.digest()[:6], 'little') / 2**48 - 24.0])
";

/// Copies the scenario, with a limit of 2 s; returns its folder.
pub(crate) fn scenario(assay: &Assay) -> PathBuf {
    let edit = |file: &str, text: String| match file {
        "scenario.toml" => {
            text.replacen("[[observation]]\n", IMAGES, 1).replacen("time_limit_s = 10", "time_limit_s = 2", 1)
        }
        _ => text,
    };
    assay.copy_scenario("cartpole_keepin", "seen", edit)
}
