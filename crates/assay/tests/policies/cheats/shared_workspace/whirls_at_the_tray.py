"""Holds the tool centre point still beside the tray and swings wrist and forearm about it."""

class Policy:
    def act(self, observation):
        place = observation["mark_1_position"] + [0.02, 0.0, 0.16]
        since = observation["time"] - 6.0
        if since < 0.0:
            return arm(towards(observation, place, 0.15))
        return arm(towards(observation, place, 0.1), (0.0, 2.4 * np.cos(6.0 * since), 0.0))
