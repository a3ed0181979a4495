"""A metric series is told by its name, whatever the version, prefix or exporter that wrote it."""

import polars as pl
import pytest

from tracemortem.sources.records import record
from tracemortem.sources.series import RECORDS, canonical, describe, from_labels, without_blanks


def named(name: str) -> tuple[str | None, str | None, float, bool]:
    found = describe(name, {})
    return found.record, found.field, found.times, found.is_counter


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", ("gpu_sample", "gpu_util_ratio", 0.01, False)),
        ("DCGM_FI_DEV_GPU_UTIL_RATIO", ("gpu_sample", "gpu_util_ratio", 0.01, False)),
        ("dcgm_fb_used", ("gpu_sample", "fb_used_bytes", 1048576, False)),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", ("gpu_sample", "energy_j", 0.001, True)),
        ("DCGM_FI_DEV_THERMAL_VIOLATION", ("gpu_sample", "thermal_violation_s", 1e-9, True)),
        ("vllm:kv_cache_usage_perc", ("engine_sample", "kv_cache_usage_ratio", 1.0, False)),
        ("vllm:gpu_cache_usage_perc", ("engine_sample", "kv_cache_usage_ratio", 1.0, False)),
        ("vllm:prefix_cache_hits_total", ("engine_sample", "prefix_hits_tokens", 1.0, True)),
        ("vllm:prefix_cache_hits", ("engine_sample", "prefix_hits_tokens", 1.0, True)),
        ("ray_vllm_prefix_cache_hits_total", ("engine_sample", "prefix_hits_tokens", 1.0, True)),
        ("vllm.time_to_first_token_seconds_sum", ("engine_sample", "ttft_sum_s", 1.0, True)),
        ("tgi_queue_size", ("engine_sample", "waiting_requests", 1.0, False)),
        ("tgi_request_duration_sum", ("engine_sample", "e2e_sum_s", 1.0, True)),
        ("trtllm_kv_cache_utilization", ("engine_sample", "kv_cache_usage_ratio", 1.0, False)),
        ("nv_inference_queue_duration_us", ("engine_sample", "queue_sum_s", 1e-6, True)),
        ("nv_inference_first_response_histogram_ms_sum", ("engine_sample", "ttft_sum_s", 0.001, True)),
        ("nv_gpu_utilization", ("gpu_sample", "gpu_util_ratio", 1.0, False)),
        (
            "dynamo_component_kvstats_gpu_cache_usage_percent",
            ("engine_sample", "kv_cache_usage_ratio", 1.0, False),
        ),
        ("dynamo_frontend_requests_total", (None, None, 1.0, False)),
        ("nvidia_smi.ecc_errors.volatile.dram_uncorrectable", ("gpu_sample", "ecc_dbe_total", 1.0, True)),
        ("nvidia_smi.memory.used", ("gpu_sample", "fb_used_bytes", 1048576, False)),
        ("nvidia_smi.pci.tx_util", ("gpu_sample", "pcie_tx_bytes_per_s", 1000, False)),
        ("sglang:num_queue_reqs", ("engine_sample", "waiting_requests", 1.0, False)),
        ("deepseek_diagnostics.decode_latency.p99", ("engine_sample", "decode_p99_s", 0.001, False)),
        ("llm.engine.kv_cache.eviction_count", ("engine_sample", "evictions", 1.0, True)),
        ("node_network_receive_bytes_total", ("host_sample", "net_rx_bytes", 1.0, True)),
        ("node_netstat_Tcp_RetransSegs", ("host_sample", "tcp_retransmits", 1.0, True)),
        ("vllm:prefix_cache_hits_created", (None, None, 1.0, False)),
        ("vllm:iteration_tokens_total", (None, None, 1.0, False)),
        ("vllm:prefix_cache_queries_total_created", (None, None, 1.0, False)),
        ("up", (None, None, 1.0, False)),
    ],
)
def test_a_name_says_record_field_factor_and_whether_it_counts(name: str, described):
    assert named(name) == described


@pytest.mark.parametrize(
    ("name", "labels", "field"),
    [
        ("sglang:cached_tokens_total", {"cache_source": "device"}, "prefix_hits_tokens"),
        ("nv_trt_llm_request_metrics", {"request_type": "waiting"}, "waiting_requests"),
        ("nv_trt_llm_request_metrics", {"request_type": "scheduled"}, "running_requests"),
        ("nv_trt_llm_request_metrics", {"request_type": "max"}, None),
        ("nv_trt_llm_kv_cache_block_metrics", {"kv_cache_block_type": "fraction"}, "kv_cache_usage_ratio"),
        ("nv_trt_llm_kv_cache_block_metrics", {"kv_cache_block_type": "used"}, None),
        ("nv_trt_llm_kv_cache_block_metrics", {}, None),
        ("sglang:cached_tokens_total", {"cache_source": "total"}, None),
        ("sglang:num_queue_reqs", {"priority": ""}, "waiting_requests"),
        ("sglang:num_queue_reqs", {"priority": "3"}, None),
    ],
)
def test_a_series_that_would_count_twice_is_no_field(name: str, labels: dict[str, str], field: str | None):
    assert describe(name, labels).field == field


def test_no_name_stands_for_two_fields_unless_labels_tell_them_apart():
    names = [
        (canonical(alias), column.only.get(alias))
        for owner in RECORDS
        for column in record(owner).values()
        if column.label is None
        for alias, _ in column.aliases
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "labels", "whose"),
    [
        (
            "DCGM_FI_DEV_SM_CLOCK",
            {"gpu": "0", "UUID": "GPU-1", "Hostname": "n1"},
            ("GPU-1", "n1", None, None, None),
        ),
        ("dcgm_sm_clock", {"gpu": "0", "uuid": "GPU-1", "hostname": "n1"}, ("GPU-1", "n1", None, None, None)),
        ("DCGM_FI_DEV_SM_CLOCK", {"gpu": "3"}, ("3", None, None, None, None)),
        ("DCGM_FI_DEV_SM_CLOCK", {"UUID": "GPU-1", "GPU_I_ID": "7"}, ("GPU-1/7", None, None, None, None)),
        (
            "DCGM_FI_DEV_SM_CLOCK",
            {
                "UUID": "GPU-1",
                "Hostname": "dcgm-exporter-x",
                "node": "n1",
                "pod": "dcgm-x",
                "exported_pod": "vllm-0",
            },
            ("GPU-1", "n1", "vllm-0", None, None),
        ),
        (
            "vllm:num_requests_running",
            {"pod": "p", "instance": "10.0.0.1:8000", "model_name": "m"},
            (None, None, "p", "m", None),
        ),
        (
            "vllm:num_requests_running",
            {"instance": "10.0.0.1:8000"},
            (None, None, "10.0.0.1:8000", None, None),
        ),
        (
            "llm.engine.kv_cache.fragmentation",
            {"host.name": "n1", "k8s.pod.name": "p", "service.name": "s"},
            (None, "n1", "p", None, "s"),
        ),
        ("node_netstat_Tcp_OutSegs", {"instance": "n1:9100"}, (None, "n1", None, None, None)),
        (
            "node_netstat_Tcp_OutSegs",
            {"instance": "[2001:db8::1]:9100"},
            (None, "[2001:db8::1]", None, None, None),
        ),
        ("node_netstat_Tcp_OutSegs", {"instance": "2001:db8::1"}, (None, "2001:db8::1", None, None, None)),
    ],
)
def test_labels_say_whose_a_series_is(name: str, labels: dict[str, str], whose):
    found = describe(name, labels)
    assert (found.gpu, found.host, found.replica, found.model, found.service) == whose


def test_the_newest_name_of_a_field_ranks_first():
    names = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    assert [describe(name, {}).rank for name in names] == [0, 1]


def test_cache_config_info_carries_its_figures_in_labels():
    labels = {"num_gpu_blocks": "22000", "block_size": "16", "enable_prefix_caching": "False", "pod": "p"}
    found = [(one.field, value, one.replica) for one, value in from_labels("vllm:cache_config_info", labels)]
    assert found == [
        ("gpu_blocks", 22000, "p"),
        ("block_size_tokens", 16, "p"),
        ("is_prefix_caching", 0, "p"),
    ]


def test_a_label_that_is_no_number_gives_no_figure():
    labels = {"num_gpu_blocks": "None", "enable_prefix_caching": "auto"}
    assert from_labels("ray_vllm_cache_config_info", labels) == []


def test_blanks_of_dcgm_are_null_and_of_others_are_values():
    blanks = [9223372036854775794.0, 2147483632.0, 140737488355328.0, 42.0]
    frame = pl.DataFrame({"value": blanks * 2, "name": ["DCGM_FI_DEV_MEMORY_TEMP"] * 4 + ["other"] * 4})
    found = frame.select(without_blanks(pl.col("value"), pl.col("name"))).to_series().to_list()
    assert found == [None, None, None, 42.0, *blanks]
