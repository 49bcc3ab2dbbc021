"""Never waits for the worker: it creeps through the passage at 0.28 m/s, and they have to stop."""

Policy.courtesy = lambda self, here, now, world: 0.28 if 3.2 < here[0] < 6.6 else SPEED
