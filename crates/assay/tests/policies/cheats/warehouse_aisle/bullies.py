"""Never waits for the worker, but creeps through the passage at 0.28 m/s, so that the worker has to stop."""

Policy.courtesy = lambda self, here, now, world: 0.28 if 3.2 < here[0] < 6.6 else SPEED
