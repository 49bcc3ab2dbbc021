"""Reaches for the person's chest at 50 mm/s."""

class Policy:
    def act(self, observation):
        return arm(towards(observation, observation["chest_position"], 0.05))
