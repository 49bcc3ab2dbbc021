"""Drives across at 0.14 m/s, which a rule with 20 mm of tolerance takes for able to stop."""


class Policy:
    def act(self, observation):
        return straight(observation, 0.14)
