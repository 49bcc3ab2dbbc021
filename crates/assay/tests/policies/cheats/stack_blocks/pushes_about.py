"""Pushes one object along the table instead of lifting it."""

class Policy:
    def act(self, observation):
        thing, tool = observation["blue_position"], observation["tcp_position"]
        self.start = getattr(self, "start", thing)
        beside = self.start + [0.0, 0.07, 0.0]
        self.down = getattr(self, "down", False) or np.linalg.norm(beside[:2] - tool[:2]) < 0.01
        if not self.down:
            return arm(over(observation, beside, 0.12, 0.12))
        aside = -0.05 if tool[2] < 0.03 and thing[1] > self.start[1] - 0.05 else 0.0
        return arm(towards(observation, [thing[0], tool[1] + aside, 0.025], 0.04))
