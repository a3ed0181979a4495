"""Which of the two says from which length on a prompt is long: the user or the table."""

import polars as pl
import pytest

from tracemortem.steps.long_prompts import long_from_tokens

VALUES = {"long_context_tokens": 0.0, "long_default_tokens": 4096.0}


class Table:
    """A file with one service, chat, whose prompts are long from 790 tokens on."""

    def frame(self, sql, params=None):
        chosen = [790] if params == {"service": "chat"} and "mart.prompt_length" in sql else []
        return pl.DataFrame({"long_from_tokens": chosen}, schema={"long_from_tokens": pl.Int64})


@pytest.mark.parametrize(
    ("service", "is_set", "tokens"), [("chat", 0.0, 790), ("chat", 16_000.0, 16_000), ("help", 0.0, 4096)]
)
def test_what_the_user_set_goes_before_the_table_and_that_before_the_default(service, is_set, tokens):
    assert long_from_tokens(Table(), service, {**VALUES, "long_context_tokens": is_set}) == tokens
