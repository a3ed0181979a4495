"""Who asks what, and when: the requests that reach one replica.

Three kinds of client share a replica. Ordinary people ask short questions in sessions, 5 % of them about a
long document that others ask about too. The audit department does the same until its batch starts: then its
people stop, and workers in the same three address ranges put a few questions to each of many long
contracts. A worker asks, waits for the answer, works on it and asks again; refused with 429 it backs off,
longer each time.

Times are seconds since the recording's start; negative ones are the warm-up, which is not recorded.
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from clients import Client, audit_client, ordinary_client
from hardware import BLOCK_TOKENS
from plan import WARM_UP_AT, Plan

SYSTEM_BLOCKS = 12  # a system prompt of 192 tokens; people use one of three, the batch a fourth
REQUESTS_PER_S = 1.13  # that people send to one replica
GROWTH_PER_HOUR = 0.08  # it is morning where the clients are
AUDIT_SHARE = 0.3  # of them, from the audit department
TURNS = 10  # mean questions a session
MATTER_BLOCKS = (4, 8)  # what a session's questions share beyond the system prompt
LONG_SHARE = 0.05
LIBRARY = 8  # documents that people ask about, on one replica
DOCUMENT_BLOCKS = (250, 430)
NEW_DOCUMENT_SHARE = 0.02  # of long questions: about a document not asked about before
REFUSED_SHARE = 0.002  # of requests: malformed, answered 400 by the gateway
WORKERS = 8  # of the batch, on one replica
WORK_S = 14.0  # mean time a worker spends on an answer
QUESTIONS = (3, 4)  # a worker puts to one contract
BACK_OFF_S = (60.0, 900.0)  # of a refused worker: at first and at most
MAX_PROMPT_TOKENS = 32_516
MAX_OUTPUT_TOKENS = 72
QUEUE_EVERY_S = 1800.0  # once the rule holds, a range's next batch request on this replica


@dataclass(slots=True)
class Request:
    """One request on its way: what it asks for, and what the gateway makes of it (200: pass on)."""

    sent_at: float
    arrives_at: float
    client: Client
    system: str
    body: str
    body_blocks: int
    prompt_tokens: int
    output_tokens: int
    status: int = 200
    worker: "Worker | None" = None


@dataclass(slots=True)
class Session:
    """Somebody asking questions about one matter."""

    client: Client
    is_audit: bool
    system: str
    matter: str
    matter_blocks: int
    turns: int


@dataclass(slots=True)
class Worker:
    """One worker of the batch: the contract it is at, and how long it backs off when refused."""

    client: Client
    contract: str = ""
    contract_blocks: int = 0
    questions: int = 0
    back_off_s: float = 0.0


@dataclass(slots=True)
class Feed:
    """The requests of one replica in order of arrival; it must be told what was answered.

    replica   number of the replica; its clients and documents are its own (sessions stick to a replica)
    rng       source of everything random in it
    plan      how many ask, when the batch starts and when the gateway's rule holds
    """

    replica: int
    rng: Random
    plan: Plan
    _calendar: list[tuple[float, int, Session | Worker | None]] = field(default_factory=list)
    _entries: int = 0
    _names: int = 0
    _library: list[tuple[str, int]] = field(default_factory=list)
    _queue_free_at: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._library = [self._document() for _ in range(LIBRARY)]
        self._put(WARM_UP_AT, None)
        if self.plan.has_batch:
            for number in range(max(1, round(WORKERS * self.plan.rate))):
                client = audit_client(self.rng, self.replica * WORKERS + number, is_batch=True)
                self._put(self.plan.batch_at + self.rng.uniform(0, 40), Worker(client))

    def next_at(self) -> float:
        """When the next thing is due; it need not be a request."""
        return self._calendar[0][0]

    def due(self, now: float) -> Iterator[Request]:
        """The requests that have arrived by now, in order."""
        while self._calendar[0][0] <= now:
            at, _, who = heapq.heappop(self._calendar)
            request = None
            if who is None:
                self._begin_session(at)
            elif isinstance(who, Worker):
                request = self._contract_question(at, who)
            elif not (who.is_audit and self.plan.is_batch_running(at)):
                request = self._question(at, who)
            if request is not None:
                yield request

    def answered(self, request: Request, at: float) -> None:
        """The request's client has its answer: a worker goes on to the next question."""
        worker = request.worker
        if worker is None:
            return
        if request.status == 429:
            first, most = BACK_OFF_S
            worker.back_off_s = min(most, 2 * worker.back_off_s or first)
        else:
            worker.questions -= 1
        pause_s = worker.back_off_s or WORK_S
        self._put(at + 0.5 + self.rng.expovariate(1 / pause_s), worker)

    def _put(self, at: float, who: Session | Worker | None) -> None:
        self._entries += 1  # ties are broken by order of entry: sessions do not compare
        heapq.heappush(self._calendar, (at, self._entries, who))

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names}"

    def _document(self) -> tuple[str, int]:
        return self._name("document"), self.rng.randint(*DOCUMENT_BLOCKS)

    def _begin_session(self, at: float) -> None:
        hours = max(0.0, at) / 3600
        per_s = self.plan.rate * REQUESTS_PER_S * (1 + GROWTH_PER_HOUR * hours) / TURNS
        self._put(at + self.rng.expovariate(per_s), None)
        is_audit = self.rng.random() < AUDIT_SHARE
        turns = 1 + int(math.log(1 - self.rng.random()) / math.log(1 - 1 / TURNS))
        blocks = self.rng.randint(*MATTER_BLOCKS)
        client = (
            audit_client(self.rng, self.rng.randrange(60), is_batch=False)
            if is_audit
            else ordinary_client(self.rng)
        )
        system = f"system-{self.rng.randrange(3)}"
        self._put(at, Session(client, is_audit, system, self._name("matter"), blocks, turns))

    def _question(self, at: float, session: Session) -> Request:
        rng = self.rng
        session.turns -= 1
        if session.turns:
            self._put(at + 4 + rng.expovariate(1 / 22), session)
        body, blocks = session.matter, session.matter_blocks
        if rng.random() < LONG_SHARE:
            shelf = min(int(rng.expovariate(1 / 2.5)), LIBRARY - 1)  # some documents are asked about more
            if rng.random() < NEW_DOCUMENT_SHARE:
                self._library[shelf] = self._document()
            body, blocks = self._library[shelf]
        question = min(150, 12 + int(rng.lognormvariate(2.9, 0.6)))
        output = max(20, min(MAX_OUTPUT_TOKENS, round(rng.gauss(53, 4))))
        status = 400 if rng.random() < REFUSED_SHARE else 200
        return self._request(at, session.client, session.system, (body, blocks), question, output, status)

    def _contract_question(self, at: float, worker: Worker) -> Request:
        rng = self.rng
        if worker.questions == 0:
            tokens = 4_200 + rng.lognormvariate(8.28, 0.61)
            worker.contract = self._name("contract")
            worker.contract_blocks = int(min(tokens, MAX_PROMPT_TOKENS - 300)) // BLOCK_TOKENS
            worker.questions = rng.choice(QUESTIONS)
        question = min(150, 24 + int(rng.lognormvariate(3.2, 0.5)))
        output = max(20, min(MAX_OUTPUT_TOKENS, round(rng.gauss(57, 5))))
        contract = (worker.contract, worker.contract_blocks)
        status = 200 if self._rule_lets_pass(worker, at) else 429
        request = self._request(at, worker.client, "system-audit", contract, question, output, status)
        request.worker = worker
        return request

    def _rule_lets_pass(self, worker: Worker, at: float) -> bool:
        if at < self.plan.mitigated_at:
            return True
        free_at = self._queue_free_at.get(worker.client.network, self.plan.mitigated_at)
        if at < free_at:
            return False
        self._queue_free_at[worker.client.network] = at + QUEUE_EVERY_S
        return True

    def _request(
        self,
        at: float,
        client: Client,
        system: str,
        body: tuple[str, int],
        question: int,
        output: int,
        status: int,
    ) -> Request:
        prompt = min(MAX_PROMPT_TOKENS, (SYSTEM_BLOCKS + body[1]) * BLOCK_TOKENS + question)
        # network and connection, and the tokenizer's 2 us a token, before the engine knows of the request
        before = 0.0008 + self.rng.expovariate(1 / 0.0006) + 2e-6 * prompt
        return Request(at - before, at, client, system, body[0], body[1], prompt, output, status)
