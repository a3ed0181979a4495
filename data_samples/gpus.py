"""What a GPU's counters read, worked out from what its engine did in the last 15 s."""

from random import Random

from hardware import (
    BLOCK_BYTES,
    DRAM_BYTES_PER_S,
    FRAMEBUFFER_MIB,
    POOL_BLOCKS,
    RESERVED_MIB,
    WEIGHTS_BYTES,
)
from plan import SCRAPE_S
from readings import Window

_MIB = 1_048_576
_FIXED_MIB = round((WEIGHTS_BYTES + POOL_BLOCKS * BLOCK_BYTES) / _MIB) + 4_630  # and the context, the graphs
_MOST_MIB = round(0.78 * FRAMEBUFFER_MIB)
_IDLE_W = 92.0
_COOLING_S = 60.0
_ABOUT = {
    "SM_CLOCK": "SM clock frequency (in MHz).",
    "MEM_CLOCK": "Memory clock frequency (in MHz).",
    "MEMORY_TEMP": "Memory temperature (in C).",
    "GPU_TEMP": "GPU temperature (in C).",
    "POWER_USAGE": "Power draw (in W).",
    "TOTAL_ENERGY_CONSUMPTION": "Total energy consumption since boot (in mJ).",
    "PCIE_REPLAY_COUNTER": "Total number of PCIe retries.",
    "GPU_UTIL": "GPU utilization (in %).",
    "MEM_COPY_UTIL": "Memory utilization (in %).",
    "XID_ERRORS": "Value of the last XID error encountered.",
    "FB_FREE": "Framebuffer memory free (in MiB).",
    "FB_USED": "Framebuffer memory used (in MiB).",
    "FB_RESERVED": "Framebuffer memory reserved (in MiB).",
    "CLOCK_THROTTLE_REASONS": "Current clock throttle reasons (bitmask).",
    "ECC_SBE_VOL_TOTAL": "Total number of single-bit volatile ECC errors.",
    "ECC_DBE_VOL_TOTAL": "Total number of double-bit volatile ECC errors.",
    "GR_ENGINE_ACTIVE": "Ratio of time the graphics engine is active.",
    "PIPE_TENSOR_ACTIVE": "Ratio of cycles the tensor (HMMA) pipe is active.",
    "DRAM_ACTIVE": "Ratio of cycles the device memory interface is active sending or receiving data.",
}

_COUNTERS = {"TOTAL_ENERGY_CONSUMPTION", "PCIE_REPLAY_COUNTER", "ECC_SBE_VOL_TOTAL", "ECC_DBE_VOL_TOTAL"}


class Gpu:
    """One GPU. xid is the last error it reported; the counter keeps it until the next reset."""

    def __init__(self, rng: Random, xid: int, xid_message: str) -> None:
        self.xid = xid
        self.xid_message = xid_message
        self._rng = rng
        self._scratch_mib = rng.uniform(0, 8_000)
        self._energy_mj = rng.randrange(10**12)
        self._heat_c = 0.0
        self._power_w = _IDLE_W
        self._kernel = self._dram = self._tensor = 0.0

    def observe(self, window: Window) -> None:
        """Take in a window.

        The framebuffer's sawtooth is the caching allocator's: requests of ever new shapes leave scratch
        memory behind, which is given back all at once when 78 % of the framebuffer is in use.
        """
        self._kernel = min(1.0, window.kernel_s / SCRAPE_S)
        self._dram = min(1.0, window.dram_bytes / SCRAPE_S / DRAM_BYTES_PER_S)
        self._tensor = window.computed_tokens * 2e-5 / SCRAPE_S + 0.04 * self._kernel
        self._power_w = _IDLE_W + 190 * self._kernel + 130 * self._dram + self._rng.gauss(0, 4)
        self._energy_mj += round(1000 * self._power_w * SCRAPE_S)
        warmth = 0.145 * self._power_w
        self._heat_c += (warmth - self._heat_c) * SCRAPE_S / _COOLING_S if self._heat_c else warmth
        self._scratch_mib += 4 * window.lookups + 0.004 * window.computed_tokens
        if _FIXED_MIB + self._scratch_mib > _MOST_MIB:
            self._scratch_mib = 0.0

    def fields(self) -> list[tuple[str, str, str, str]]:
        """(name, type, help, value) of every field, in the exporter's order."""
        used = _FIXED_MIB + round(self._scratch_mib)
        device = {
            "SM_CLOCK": "1410",
            "MEM_CLOCK": "1593",
            "MEMORY_TEMP": str(round(29 + 1.05 * self._heat_c)),
            "GPU_TEMP": str(round(28 + self._heat_c)),
            "POWER_USAGE": f"{self._power_w:.3f}",
            "TOTAL_ENERGY_CONSUMPTION": str(self._energy_mj),
            "PCIE_REPLAY_COUNTER": "0",
            "GPU_UTIL": str(round(100 * self._kernel)),
            "MEM_COPY_UTIL": str(round(70 * self._dram)),
            "XID_ERRORS": str(self.xid),
            "FB_FREE": str(FRAMEBUFFER_MIB - RESERVED_MIB - used),
            "FB_USED": str(used),
            "FB_RESERVED": str(RESERVED_MIB),
            "CLOCK_THROTTLE_REASONS": "0",
            "ECC_SBE_VOL_TOTAL": "0",
            "ECC_DBE_VOL_TOTAL": "0",
        }
        profiling = {
            "GR_ENGINE_ACTIVE": f"{self._kernel:.6f}",
            "PIPE_TENSOR_ACTIVE": f"{self._tensor:.6f}",
            "DRAM_ACTIVE": f"{self._dram:.6f}",
        }
        return [
            (f"DCGM_FI_{group}_{name}", "counter" if name in _COUNTERS else "gauge", _ABOUT[name], value)
            for group, fields in (("DEV", device), ("PROF", profiling))
            for name, value in fields.items()
        ]
