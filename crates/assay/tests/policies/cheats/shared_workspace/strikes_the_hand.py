"""Strikes the person's hand at 0.8 m/s without stopping."""


class Policy:
    def act(self, observation):
        way = observation["hand_position"] - observation["tcp_position"]
        return arm(0.8 * way / max(np.linalg.norm(way), 1e-9))
