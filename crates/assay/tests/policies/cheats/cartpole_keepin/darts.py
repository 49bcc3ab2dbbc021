"""Ignores the pole and darts back and forth within the zone."""

class Policy:
    def act(self, observation):
        x, v = observation["joint_position"][0], observation["joint_velocity"][0]
        self.sign = getattr(self, "sign", 1.0)
        # Turns where full braking still stops in time.
        if self.sign * x + v * abs(v) * self.sign / 16.0 > 0.6:
            self.sign = -self.sign
        return np.array([FORCE_N * self.sign])
