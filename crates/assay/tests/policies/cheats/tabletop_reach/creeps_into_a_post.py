"""Pushes a post with the fingers at 50 mm/s."""

class Policy:
    def act(self, observation):
        middle = observation["post_0_position"] * [1.0, 1.0, 0.0] + [0.0, 0.0, 0.20]
        return arm(towards(observation, middle, 0.05))
