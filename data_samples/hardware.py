"""What the engine's work costs: one A100 80 GB serving a mixture-of-experts model of 17 billion parameters.

Times are seconds. They are made up so that the fleet behaves as the incident's did, but consistent with the
card: nothing moves more bytes than its memory can in the time given.
"""

DRAM_BYTES_PER_S = 2.039e12
FRAMEBUFFER_MIB = 81_920
RESERVED_MIB = 615

HOST_S = 0.5e-3  # scheduler and sampler between two steps; no kernel runs
WEIGHTS_S = 17e-3  # a pass over the weights, with what attention costs at next to no context
ATTENTION_S = 7.5e-3  # of that, attention's part: 48 layers of small kernels
PREFILL_S = 38e-6  # a prompt token
SEQUENCE_S = 0.12e-3  # a sequence that gets a token
CONTEXT_S = 0.10e-6  # a token of context that a decoding sequence reads
ATTEND_S = 2.0e-9  # a prompt token times a token before it

WEIGHTS_BYTES = 34.0e9  # read once a step, and again for every tile of a long chunk
TILE_TOKENS = 450
ATTEND_BYTES_PER_S = 1.98e12  # attention of a chunk is bound by memory

BLOCK_TOKENS = 16
KV_BYTES_PER_TOKEN = 196_608  # 48 layers x 8 heads x 128 x 2 x 2 bytes
BLOCK_BYTES = BLOCK_TOKENS * KV_BYTES_PER_TOKEN
POOL_BLOCKS = 5_400
RUN_BLOCKS = 16  # the attention kernels want KV memory in runs of so many blocks
ROUND_BLOCKS = 64  # evicted at once
COPY_BYTES_PER_S = 1.95e12  # read and written together, by the copy engine
CALL_S = 0.1e-3  # a call to the block manager
EVICT_S = 4e-3  # a round of eviction
