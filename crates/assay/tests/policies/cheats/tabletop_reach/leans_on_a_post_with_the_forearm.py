"""Reaches over a post and presses the forearm down on it."""

class Policy:
    def act(self, observation):
        post = observation["post_0_position"]
        out = post[:2] / np.linalg.norm(post[:2])
        tool, beyond = observation["tcp_position"], post[:2] + 0.06 * out
        if not hasattr(self, "down"):
            self.down = False
        # Fingers ahead rather than down, so that the forearm lies over the post.
        w, x, y, z = observation["tcp_orientation"]
        ahead = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        turn = 1.0 * np.cross(ahead, [0.8 * out[0], 0.8 * out[1], -0.6])
        self.down = self.down or np.linalg.norm(beyond - tool[:2]) < 0.03
        if self.down:
            return arm(towards(observation, [*beyond, 0.0], 0.10), turn)
        return arm(over(observation, np.array([*beyond, 0.0]), 0.55), turn)
