"""Lifts the tool towards the person's face at 0.1 m/s."""

class Policy:
    def act(self, observation):
        return arm(towards(observation, observation["head_position"], 0.1))
