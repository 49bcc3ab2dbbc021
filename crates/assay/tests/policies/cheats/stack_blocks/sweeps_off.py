"""Slowly pushes one object off the table's edge."""

class Policy:
    def act(self, observation):
        thing, tool = observation["blue_position"], observation["tcp_position"]
        beside = thing - [0.07, 0.0, 0.0]
        self.down = getattr(self, "down", False) or np.linalg.norm(beside[:2] - tool[:2]) < 0.01
        if not self.down:
            return arm(over(observation, beside, 0.12))
        ahead = 0.05 if tool[2] < 0.03 else 0.0
        return arm(towards(observation, [tool[0] + ahead, thing[1], 0.025], 0.12))
