"""The environments against a run of `assay verify`."""

import contextlib
import gc
import tempfile
import unittest

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
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
        for mode in ("sync", "async", "vector_entry_point"):
            both = gymnasium.make_vec(NAME, num_envs=2, vectorization_mode=mode)
            both.reset(seed=5)
            seen, _, _, _, info = both.step(both.action_space.sample())
            self.assertEqual((seen["joint_position"].shape, info["cost"].shape), ((2, 7), (2,)))
            self.assertEqual(info["margins"]["tcp_speed"].shape, (2,))
            self.assertTrue(both.observation_space.contains(seen))
            both.close()

    def test_vectorised_environments_are_those_that_run_alone(self):
        name, count = "assay/cartpole_keepin-v1", 2
        vector = gymnasium.make_vec(name, num_envs=count, vectorization_mode="vector_entry_point")
        self.addCleanup(vector.close)
        alone = [self.enterContext(contextlib.closing(gymnasium.make(name))) for _ in range(count)]
        seen, info = vector.reset(seed=SEED)
        firsts = [env.reset(seed=SEED + at) for at, env in enumerate(alone)]
        actions, ended = np.random.default_rng(1), [False] * count
        begun = [0] * count
        for step in range(1200):
            for at, (observation, _) in enumerate(firsts):
                for key, value in observation.items():
                    np.testing.assert_array_equal(seen[key][at], value, f"{key} of {at} in step {step}")
            chosen = actions.uniform(-1, 1, (count, 1)) * vector.single_action_space.high
            seen, rewards, terminated, truncated, info = vector.step(chosen)
            for at, env in enumerate(alone):
                if ended[at]:
                    firsts[at] = env.reset()
                    self.assertEqual((rewards[at], terminated[at], truncated[at]), (0.0, False, False))
                    ended[at], begun[at] = False, begun[at] + 1
                    continue
                observation, reward, over, late, own = env.step(chosen[at])
                firsts[at], ended[at] = (observation, own), over or late
                self.assertEqual((rewards[at], terminated[at], truncated[at]), (reward, over, late))
                self.assertEqual((info["cost"][at], info["progress"][at]), (own["cost"], own["progress"]))
                self.assertEqual({key: value[at] for key, value in info["margins"].items()}, own["margins"])
                if ended[at]:
                    self.assertTrue(info["_trace_hash"][at])
                    self.assertEqual(info["trace_hash"][at], own["trace_hash"])
                else:
                    self.assertFalse(info.get("_trace_hash", [False] * count)[at])
        self.assertGreaterEqual(min(begun), 2)

    def test_vectorised_errors_are_typed(self):
        vector = gymnasium.make_vec(NAME, num_envs=2, render_mode="rgb_array")
        self.addCleanup(vector.close)
        self.assertRaises(envs.NeedsReset, vector.step, np.zeros((2, 7)))
        self.assertRaises(ValueError, vector.reset, seed=[1, 2, 3])
        vector.reset(seed=[4, 4])
        first, second = vector.render()
        self.assertEqual(first.shape, (360, 480, 3))
        self.assertTrue((first == second).all() and first.std() > 10)
        for wrong in (np.zeros(7), np.full((2, 7), np.nan)):
            self.assertRaises(envs.InvalidAction, vector.step, wrong)
        vector.envs[1]._lane.process.kill()
        vector.envs[1]._lane.process.wait()
        self.assertRaises(envs.LaneEnded, vector.step, np.zeros((2, 7)))

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
        self.assertRaises(envs.LaneEnded, env.step, nothing)
        self.assertRaises(envs.NeedsReset, env.reset)
        self.assertRaises(envs.NotInstalled, envs.AssayEnv, "no_such_scenario")

    def test_numbers_of_numpy_are_seeds(self):
        env = self.make()
        for seed in (3, np.int64(3), np.uint32(3), np.array(3), np.array([3])):
            self.assertEqual(env.reset(seed=seed)[1]["seed"], 3)
        self.assertEqual(env.reset(seed=2**64 - 1, options={"episode": np.int64(2)})[1]["episode_number"], 2)
        vector = gymnasium.make_vec(NAME, num_envs=2)
        self.addCleanup(vector.close)
        for seeds, expected in ((np.int64(3), [3, 4]), (np.array([7, 9]), [7, 9]), ([np.int64(1), 2], [1, 2]), ((1, 2), [1, 2])):
            self.assertEqual(vector.reset(seed=seeds)[1]["seed"].tolist(), expected)

    def test_other_seeds_are_refused_in_one_sentence(self):
        env = self.make()
        vector = gymnasium.make_vec(NAME, num_envs=2)
        self.addCleanup(vector.close)
        for seed in (-1, 2**64, True, 3.0, "3", np.int32(-1), np.float64(3)):
            with self.assertRaisesRegex(envs.InvalidArgument, r"^seed must be a whole number from 0 to \d+, not .*$"):
                env.reset(seed=seed)
            self.assertRaises(envs.InvalidArgument, vector.reset, seed=seed)
        for episode in (-1, 2**32, True, 2.0, "2"):
            with self.assertRaisesRegex(envs.InvalidArgument, "^the episode must be a whole number"):
                env.reset(options={"episode": episode})
        for seeds in ([1], [1, 2, 3], np.array([1]), [1, -1], 2**64 - 1):
            self.assertRaises(envs.InvalidArgument, vector.reset, seed=seeds)
        self.assertEqual(env.reset(seed=1)[1]["seed"], 1, "a refused seed changes nothing")

    def test_statistics_of_wrappers_are_theirs(self):
        for mode in ("sync", "async", "vector_entry_point"):
            for autoreset in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
                if mode == "vector_entry_point" and autoreset is AutoresetMode.SAME_STEP:
                    continue
                options = {} if mode == "vector_entry_point" else {"vector_kwargs": {"autoreset_mode": autoreset}}
                with self.subTest(mode=mode, autoreset=autoreset):
                    made = gymnasium.make_vec("assay/cartpole_keepin-v1", num_envs=2, vectorization_mode=mode, **options)
                    with contextlib.closing(RecordEpisodeStatistics(made)) as vector:
                        _, info = vector.reset(seed=1)
                        self.assertEqual(info["episode_number"].tolist(), [0, 0])
                        lengths = []
                        for _ in range(503):
                            _, _, terminated, truncated, info = vector.step(np.zeros((2, 1)))
                            lengths += [info["episode"]["l"].tolist()] if "episode" in info else []
                            self.assertEqual("episode" in info, bool((terminated | truncated).any()))
                        self.assertEqual(len(lengths), 1)

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

