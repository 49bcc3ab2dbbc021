"""Drives to the first lane and creeps through it at 50 mm/s, regardless of people."""


class Policy:
    def act(self, observation):
        return straight(observation, 0.6 if observation["position"][0] < 1.0 else 0.05)
