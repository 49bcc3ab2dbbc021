"""Drives across at 0.14 m/s, at which a rule with 20 mm of tolerance considers it able to stop in time."""


class Policy:
    def act(self, observation):
        return straight(observation, 0.14)
