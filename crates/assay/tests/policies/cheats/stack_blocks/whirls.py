"""Lifts the hand, and swings wrist and forearm about the tool centre point, which stands still."""

class Policy:
    def act(self, observation):
        since = observation["time"] - 1.5
        if since < 0.0:
            return arm([0.0, 0.0, 0.1])
        # To and fro by a third of a radian.
        return arm(np.zeros(3), (0.0, 2.2 * np.cos(13.0 * since) * min(since, 1.0), 0.0))
