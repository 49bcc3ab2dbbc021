"""Pushes the fingers against the drawer's front at 0.15 m/s."""

class Policy:
    def act(self, observation):
        inward, _, _ = matrix(observation["handle_orientation"]).T
        place = observation["handle_position"] + 0.3 * inward + [0.0, 0.0, 0.04]
        return arm(towards(observation, place, 0.15))
