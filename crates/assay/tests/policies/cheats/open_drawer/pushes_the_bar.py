"""Presses the bar down from above at 50 mm/s."""

class Policy:
    def act(self, observation):
        bar = observation["handle_position"]
        aside = np.linalg.norm((bar - observation["tcp_position"])[:2])
        self.down = getattr(self, "down", False) or aside < 0.005
        return arm([0.0, 0.0, -0.05] if self.down else over(observation, bar, bar[2] + 0.08))
