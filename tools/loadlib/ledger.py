"""Counts and checks of the answers to the load."""

import collections
import threading

SHOWN_FAULTS = 20


class Ledger:
    """Counts answers by operation and status, and records jobs and faults. Thread-safe."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers: collections.Counter = collections.Counter()
        self.faults: list[str] = []
        self.jobs: dict[str, str] = {}  # policy by accepted job
        self.erased: set[str] = set()
        self.ended: collections.deque = collections.deque(maxlen=40)  # jobs whose evidence can be read: client, id

    def fault(self, text: str) -> None:
        """Records a fault."""
        with self.lock:
            self.faults.append(text)
        print(f"FAULT {text}", flush=True)

    def answered(self, operation: str, answer, expected: tuple[int, ...]):
        """Counts an answer, records a fault if its status is unexpected, and returns the answer."""
        with self.lock:
            self.answers[operation, answer.status] += 1
        if answer.status not in expected:
            self.fault(f"{operation}: {answer.status}, not {expected}: {answer.text()}")
        return answer

    def accepted(self, job: str, policy: str) -> None:
        """Records an accepted job."""
        with self.lock:
            self.jobs[job] = policy

    def table(self) -> str:
        """Returns a table with the number of answers by operation and status."""
        operations = sorted({operation for operation, _ in self.answers})
        rows = []
        for operation in operations:
            found = {status: count for (name, status), count in self.answers.items() if name == operation}
            rows.append(f"  {operation:<14}" + " ".join(f"{status}:{count}" for status, count in sorted(found.items())))
        return "\n".join(rows)
