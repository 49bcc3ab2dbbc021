"""Blocks the first lane, and leaves it briefly every few seconds."""


class Policy:
    def act(self, observation):
        place = 2.15 if observation["time"] % 5.0 < 3.8 else 1.4
        way = place - observation["position"][0]
        return straight(observation, np.clip(2.0 * way, -0.3, 0.5))
