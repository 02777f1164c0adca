//! fio's options without effect here, and unsupported ones, each with the reason.

/// Options that are accepted without effect, with the reason.
pub(super) const WITHOUT_EFFECT: &[(&[&str], &str)] = &[
    (&["group_reporting", "new_group"], "every job and the total are always reported"),
    (&["thread", "threads"], "a job is always a thread"),
    (&["randrepeat", "allrandrepeat"], "the same seed always gives the same addresses"),
    (&["random_generator"], "the random generator is fixed"),
    (&["refill_buffers", "scramble_buffers"], "written data never repeats"),
    (
        &["fallocate", "overwrite", "create_serialize", "create_fsync", "create_on_open"],
        "a missing file is always written throughout before any job starts",
    ),
    (&["filetype", "unique_filename"], "missing files are laid out"),
    (&["openfiles"], "a job has one file, divided into as many parts as `nrfiles`"),
    (&["unlink", "unlink_each_loop"], "files are kept for the next run"),
    (&["fadvise_hint", "offset_align"], "regions start at whole blocks, and no fadvise is given"),
    (&["softrandommap"], "the map of used blocks is always kept"),
    (
        &[
            "replay_no_stall",
            "replay_redirect",
            "replay_scale",
            "replay_align",
            "replay_time_scale",
            "replay_skip",
        ],
        "without `read_iolog` it changes nothing, as in fio",
    ),
    (&["userspace_reap"], "completions are always read from memory"),
    (&["iodepth_low"], "the queue is kept full"),
    (
        &["io_submit_mode"],
        "with a rate, requests are issued when due, whether or not earlier ones \
                           completed",
    ),
    (
        &[
            "fixedbufs",
            "registerfiles",
            "mem",
            "iomem",
            "mem_align",
            "iomem_align",
            "hugepage-size",
        ],
        "buffers are aligned; buffers and files are registered with the kernel",
    ),
    (
        &["nonvectored", "sqthread_poll_cpu", "nowait", "force_async"],
        "requests are submitted in the cheapest way",
    ),
    (
        &["gtod_reduce", "gtod_cpu", "clocksource", "job_start_clock_id"],
        "every request gets timestamps from the best clock",
    ),
    (
        &["lat_percentiles", "clat_percentiles", "slat_percentiles"],
        "latency always counts from the intended start",
    ),
    (
        &[
            "percentile_list",
            "log_hist_msec",
            "log_hist_coarseness",
            "write_hist_log",
            "block_error_percentiles",
            "significant_figures",
        ],
        "the whole distribution is in the result",
    ),
    (&["max_latency"], "a slower request does not end the job, as it would in fio"),
    (
        &[
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "log_avg_msec",
            "bwavgtime",
            "iopsavgtime",
            "per_job_logs",
            "log_window_value",
            "log_max_value",
            "log_offset",
            "log_prio",
            "log_issue_time",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
            "log_unix_epoch",
            "log_entries",
        ],
        "the result contains every second; no log is written",
    ),
    (
        &[
            "verify_policy",
            "verify_interval",
            "verify_offset",
            "verify_pattern",
            "verify_pattern_interval",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_state_save",
            "verify_write_sequence",
            "verify_header_seed",
            "verifysort",
            "verifysort_nr",
            "experimental_verify",
        ],
        "each sector has a label of drivelab, and all are read back after the run",
    ),
    (&["write_iolog"], "requests are not logged"),
    (&["disable_lat", "disable_clat", "disable_slat"], "latency is always measured"),
    (
        &["disable_bw_measurement", "disable_bw", "unified_rw_reporting", "stats", "unit_base"],
        "throughput is always measured and shown with its unit",
    ),
    (&["eta"], "progress is shown on a terminal"),
    (&["disk_util"], "other I/O on the device is reported"),
    (&["description", "comm"], "it is a description only"),
    (
        &["exitall_on_error", "continue_on_error", "ignore_error", "error_dump"],
        "failed requests are counted, and the run continues",
    ),
    (&["allow_mounted_write"], "a mounted device is never written"),
    (
        &["rate_min", "ratemin", "rate_iops_min", "rate_cycle", "ratecycle"],
        "a missed rate is marked in the result and does not end the job, as it would in fio",
    ),
    (&["thinktime_blocks_type"], "think time starts at the completion"),
    (&["flow_watermark"], "it has had no effect since fio 3.23: `flow` is a weight"),
    (&["steadystate_check_interval", "ss_interval"], "steady state is checked once per second"),
    (
        &[
            "cpus_allowed",
            "cpumask",
            "cpus_allowed_policy",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "nice",
        ],
        "start drivelab under `taskset`, `numactl` or `nice`",
    ),
];

/// Options of what is written, which are noted unless they are switched off.
pub(super) const CONTENT: &[(&[&str], &str)] = &[(
    &[
        "buffer_compress_percentage",
        "buffer_compress_chunk",
        "dedupe_percentage",
        "dedupe_mode",
        "dedupe_working_set_percentage",
        "dedupe_global",
        "zero_buffers",
        "buffer_pattern",
    ],
    "written data is random and never repeats: a drive or a file system that compresses or \
     deduplicates shows its worst case",
)];

/// Options that are refused, with an alternative or the reason.
pub(super) const REFUSED: &[(&[&str], &str)] = &[
    (
        &[
            "verify_state_load",
            "trim_percentage",
            "trim_verify_zero",
            "trim_backlog",
            "trim_backlog_batch",
        ],
        "use `drivelab run TARGET --verify` with the other options",
    ),
    (&["verify_only"], "use `drivelab run TARGET --verify-only`"),
    (
        &[
            "read_iolog",
            "read_iolog_chunked",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
        "use `drivelab replay TRACE`",
    ),
    (
        &[
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_hint",
            "cmdprio_bssplit",
            "prio",
            "prioclass",
            "priohint",
        ],
        "set one priority for all requests with `ionice`",
    ),
    (
        &["cgroup", "cgroup_weight", "cgroup_nodelete", "uid", "gid"],
        "start drivelab as that user or in that group, for example with `systemd-run`",
    ),
    (&["ioscheduler"], "set it first: echo NAME > /sys/block/sdX/queue/scheduler"),
    (&["exec_prerun", "exec_postrun"], "run that command yourself, before or after"),
    (&["profile", "opendir"], "write out what it stands for"),
    (
        &[
            "zonecapacity",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
            "recover_zbd_write_error",
            "write_zone_remainder",
        ],
        "drivelab does not support zoned devices; `zonemode=strided` needs none",
    ),
    (
        &[
            "fdp",
            "dataplacement",
            "data_placement",
            "plid_select",
            "fdp_pli_select",
            "plids",
            "fdp_pli",
            "dp_scheme",
            "write_hint",
            "atomic",
            "uncached",
        ],
        "drivelab sends no such hints",
    ),
    (
        &[
            "cmd_type",
            "readfua",
            "writefua",
            "write_mode",
            "verify_mode",
            "md_per_io_size",
            "pi_act",
            "pi_chk",
            "apptag",
            "apptag_mask",
        ],
        "the kernel's block layer has no such command; `sync=dsync` is FUA",
    ),
    (
        &["sync_file_range", "write_barrier", "end_syncfs"],
        "use `fsync`, `fdatasync` or `end_fsync`",
    ),
    (
        &["thinktime_spin", "thinktime_iotime", "thinkcycles", "rate_ignore_thinktime"],
        "`thinktime` alone pauses after every request",
    ),
    (
        &["sprandom", "spr_op", "spr_cs", "spr_num_regions", "num_range", "random_sequence_stride"],
        "`random_distribution` is `random`, `zipf`, `pareto`, `normal` or `zoned`",
    ),
    (&["bs_is_seq_rand"], "give sequential and random requests separate sections"),
    (&["gpu_dev_id"], "data stays in main memory"),
    (&["bs_unaligned", "blocksize_unaligned"], "blocks are whole sectors"),
    (&["rw_sequencer"], "`percentage_random` sets the share of sequential requests"),
    (&["file_append", "pre_read"], "create or read the file first"),
    (&["ramp_size"], "use `ramp_time`, in seconds"),
    (&["exit_what"], "`exitall` ends the jobs that run at the same time"),
    (&["client", "server", "remote-config", "section"], "a run uses this machine only"),
];

/// The reason in `table` for `key`.
pub(super) fn reason(table: &[(&[&str], &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, why)| *why)
}

/// All keys of it.
pub(super) fn keys(table: &'static [(&[&str], &str)]) -> impl Iterator<Item = &'static str> {
    table.iter().flat_map(|(keys, _)| *keys).copied()
}
