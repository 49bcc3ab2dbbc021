"""Follows the person's hand at 50 mm/s and stays on top of it."""

class Policy:
    def act(self, observation):
        return arm(towards(observation, observation["hand_position"], 0.05))
