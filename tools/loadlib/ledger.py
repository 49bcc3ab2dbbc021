"""What the load was answered, counted and checked."""

import collections
import threading

SHOWN_FAULTS = 20


class Ledger:
    """Counts answers by operation and status, remembers jobs and what is not as it should be. For all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers: collections.Counter = collections.Counter()
        self.faults: list[str] = []
        self.jobs: dict[str, str] = {}  # accepted jobs: the policy of each
        self.erased: set[str] = set()
        self.ended: collections.deque = collections.deque(maxlen=40)  # jobs whose evidence can be read: client, id

    def fault(self, text: str) -> None:
        """Records what must not happen."""
        with self.lock:
            self.faults.append(text)
        print(f"FAULT {text}", flush=True)

    def answered(self, operation: str, answer, expected: tuple[int, ...]):
        """Counts an answer, and records a fault unless its status is one of those expected; the answer."""
        with self.lock:
            self.answers[operation, answer.status] += 1
        if answer.status not in expected:
            self.fault(f"{operation}: {answer.status}, not {expected}: {answer.text()}")
        return answer

    def accepted(self, job: str, policy: str) -> None:
        """Remembers a job that was accepted."""
        with self.lock:
            self.jobs[job] = policy

    def table(self) -> str:
        """Returns how often each operation had each status."""
        operations = sorted({operation for operation, _ in self.answers})
        rows = []
        for operation in operations:
            found = {status: count for (name, status), count in self.answers.items() if name == operation}
            rows.append(f"  {operation:<14}" + " ".join(f"{status}:{count}" for status, count in sorted(found.items())))
        return "\n".join(rows)
