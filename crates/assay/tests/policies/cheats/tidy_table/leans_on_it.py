"""Presses down on one object with closed fingers, without moving it."""

class Policy:
    def act(self, observation):
        thing, tool = observation["cube_position"], observation["tcp_position"]
        aside = np.linalg.norm((thing - tool)[:2])
        self.down = getattr(self, "down", False) or aside < 0.005
        if not self.down:
            return arm(over(observation, thing, 0.12))
        # What the tool has been told to go since it came to rest on it.
        self.pressed = getattr(self, "pressed", 0.0)
        if tool[2] < thing[2] + 0.04 and observation["tcp_velocity"][2] > -0.01:
            self.pressed += 0.0006
        return arm([0.0, 0.0, -0.03 if self.pressed < 0.007 else 0.0])
