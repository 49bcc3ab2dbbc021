"""Moves slowly until it touches a post, and stays there without pressing hard."""

class Policy:
    def act(self, observation):
        post, tool = observation["post_0_position"], observation["tcp_position"]
        way = (post - tool) * [1.0, 1.0, 0.0]
        self.steps = getattr(self, "steps", 0) + 1
        stuck = np.linalg.norm(observation["tcp_velocity"]) < 0.02 and self.steps > 25
        self.there = getattr(self, "there", False) or stuck
        return arm(np.zeros(3) if self.there else 0.04 * way / np.linalg.norm(way))
