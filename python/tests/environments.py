"""The environments against a run of `assay verify`."""

import gc
import tempfile
import unittest

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from service import EXAMPLES

import assay
from assay import envs

SCENARIO = "tabletop_reach"
NAME = f"assay/{SCENARIO}-v1"
SEED = 11


class Environments(unittest.TestCase):
    def make(self, **keywords):
        env = gymnasium.make(NAME, **keywords)
        self.addCleanup(env.close)
        return env

    def test_the_same_actions_give_the_same_trace(self):
        env = self.make()
        out = self.enterContext(tempfile.TemporaryDirectory())
        policy = EXAMPLES / SCENARIO / "reference"
        report = assay.verify(policy, scenario=SCENARIO, episodes=2, seed=SEED, out=out, record="none").report.raw
        for k, expected in enumerate(report["episode_details"]):
            actions = np.load(f"{out}/episodes/{k:03}/actions.npy")
            env.reset(seed=SEED) if k == 0 else env.reset()
            rewards = 0.0
            for action in actions:
                _, reward, terminated, truncated, info = env.step(action)
                rewards += reward
            self.assertTrue(terminated or truncated)
            self.assertEqual(info["trace_hash"], expected["trace_hash"])
            self.assertEqual(info["success"], expected["success"])
            self.assertAlmostEqual(rewards, expected["progress_score"])
            self.assertEqual(set(info["margins"]), {clause["id"] for clause in expected["clauses"]})

    def test_gymnasium_accepts_it(self):
        check_env(self.make().unwrapped, skip_render_check=True)

    def test_every_scenario_can_be_stepped(self):
        home = EXAMPLES.parents[1] / "scenarios"
        scenarios = sorted(folder.parent.name for folder in home.glob("*/scenario.toml"))
        self.assertGreaterEqual(len(scenarios), 12)
        with_images = set()
        for scenario in scenarios:
            with self.subTest(scenario=scenario):
                env = gymnasium.make(f"assay/{scenario}-v1")
                observation, info = env.reset(seed=3)
                again, _ = env.reset(seed=3)
                self.assertTrue(all((observation[name] == again[name]).all() for name in observation))
                for _ in range(3):
                    self.assertTrue(env.observation_space.contains(observation))
                    action = (env.action_space.low + env.action_space.high) / 2
                    observation, reward, _, _, info = env.step(action)
                    self.assertTrue(np.isfinite(reward) and info["cost"] >= 0)
                self.assertEqual(set(info["margins"]), set(env.unwrapped.clauses))
                self.assertGreater(observation["time"][0], 0)
                images = {name: value for name, value in observation.items() if name.startswith("images/")}
                for image in images.values():
                    self.assertEqual((image.dtype, image.ndim, image.shape[2]), (np.uint8, 3, 3))
                    self.assertGreater(image.std(), 5, "an image shows something")
                with_images |= {scenario} if images else set()
                env.close()
        self.assertEqual(with_images, {"stack_by_sight", "tidy_by_sight"})

    def test_gymnasium_accepts_others(self):
        for scenario in ("cartpole_keepin", "quadrotor_gates"):
            with self.subTest(scenario=scenario):
                env = gymnasium.make(f"assay/{scenario}-v1").unwrapped
                check_env(env, skip_render_check=True)
                env.close()

    def test_vectorised(self):
        for mode in ("sync", "async"):
            both = gymnasium.make_vec(NAME, num_envs=2, vectorization_mode=mode)
            both.reset(seed=5)
            seen, _, _, _, info = both.step(both.action_space.sample())
            self.assertEqual((seen["joint_position"].shape, info["cost"].shape), ((2, 7), (2,)))
            both.close()

    def test_pictures_show_the_scene(self):
        env = self.make(render_mode="rgb_array")
        env.reset(seed=2)
        before = env.render()
        for _ in range(20):
            env.step(env.action_space.sample())
        after = env.render()
        self.assertEqual((before.shape, before.dtype), ((360, 480, 3), np.uint8))
        self.assertGreater(before.std(), 10)
        self.assertTrue((before != after).any())

    def test_every_scenario_has_one(self):
        self.assertGreaterEqual(sum(name.startswith("assay/") for name in gymnasium.registry), 12)

    def test_errors_are_typed(self):
        env = self.make().unwrapped
        nothing = np.zeros(7)
        self.assertRaises(envs.NeedsReset, env.step, nothing)
        env.reset(seed=1)
        self.assertRaises(envs.InvalidAction, env.step, nothing * np.nan)
        self.assertRaises(envs.InvalidAction, env.step, np.zeros(3))
        env.step(nothing)
        env._lane.process.kill()
        env._lane.process.wait()
        self.assertRaises(envs.LaneEnded, env.step, nothing)
        self.assertRaises(envs.NeedsReset, env.reset)
        self.assertRaises(envs.NotInstalled, envs.AssayEnv, "no_such_scenario")

    def test_no_process_remains(self):
        for end in ("close", "collect"):
            env = envs.AssayEnv("tabletop_reach")
            env.reset(seed=1)
            process = env._lane.process
            if end == "close":
                env.close()
                env.close()
            del env
            gc.collect()
            self.assertIsNotNone(process.poll())


if __name__ == "__main__":
    unittest.main()

