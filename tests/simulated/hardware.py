"""What an engine runs on."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Hardware:
    """What a step costs, in seconds, and what fits into memory, in tokens.

    noise        relative standard deviation of a step's time
    stall_ratio  share of steps that take stall_s longer
    """

    host_s: float
    token_s: float
    sequence_s: float
    weights_s: float
    context_s: float
    overlap: float
    kv_tokens: int
    max_sequences: int
    batched_tokens: int
    noise: float = 0.0
    stall_ratio: float = 0.0
    stall_s: float = 0.15

    def of_lengths(self, times: float) -> "Hardware":
        """The same for prompts so many times as long: a prompt costs and holds as much of it as before."""
        return replace(
            self,
            token_s=self.token_s / times,
            context_s=self.context_s / times,
            kv_tokens=round(self.kv_tokens * times),
        )
