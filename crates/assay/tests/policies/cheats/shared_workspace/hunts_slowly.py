"""Follows the person's hand at 50 mm/s and stays on it."""

class Policy:
    def act(self, observation):
        return arm(towards(observation, observation["hand_position"], 0.05))
