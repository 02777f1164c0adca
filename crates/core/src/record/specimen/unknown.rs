//! Numbers that a profile may leave open, in words for the owner of the drive.

/// An unknown number of a profile, and how to determine it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// The key of the profile.
    pub key: &'static str,
    /// Its meaning for a drive, as the end of "what decides is ...".
    pub words: &'static str,
    /// The way to determine it.
    pub found_by: FoundBy,
}

/// A way to determine an unknown of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// Measuring with reads, and a fit.
    Reads,
    /// Measuring with writes, which destroy what the drive holds, and a fit.
    Writes,
    /// No fit: of solid-state drives only reads are fitted.
    NoFit,
}

/// The words for the keys that profiles leave open.
const UNKNOWNS: &[Unknown] = &[
    reading("seek_short", "how long its short seeks take"),
    reading("seek_average", "how long its average seek takes"),
    reading("seek_shape", "how its seek time grows with the distance"),
    reading("seek_track", "how long the step to the next track takes"),
    reading("guard", "how much time its firmware keeps in hand before it serves a request"),
    reading("guard_growth", "how its firmware orders its queue"),
    reading("guard_from", "from which seek on its firmware keeps time in hand"),
    reading("queue_depth", "how many commands it queues"),
    reading("rpm", "how fast it turns"),
    reading("head_switch", "how long it takes to switch heads"),
    reading("read_segments", "how many streams its buffer follows"),
    reading("segment_bytes", "how large its read buffers are"),
    reading("read_ahead_bytes", "how far it reads ahead"),
    reading("commit", "whether its firmware waits for the next request before it chooses"),
    writing("uncached_writes", "whether its firmware orders writes that it does not cache"),
    writing("write_cache_bytes", "how large its write cache is"),
    writing("write_cache_runs", "how many cached writes it sorts"),
    writing("write_settle", "how long its heads settle before a write"),
    unfitted("band_bytes", "how long its bands of shingled tracks are"),
    unfitted("media_cache_bytes", "how large its media cache is"),
    unfitted("media_cache_writes", "how many writes its media cache takes"),
    unfitted("clean_after", "how soon it cleans its media cache when it is idle"),
    writing("flush", "how long it takes to flush its cache"),
    reading("dies", "how many reads it works on at once"),
    reading("page_read_factor", "how fast its cells are read"),
    unfitted("page_program_factor", "how fast its cells are programmed"),
    unfitted("erase", "how long it takes to erase a block"),
    unfitted("spare", "how much flash it has beyond its capacity"),
    unfitted("flush_program", "how fast it programs pages for a flush"),
    unfitted("flush_map_pages", "how much of its map a flush writes"),
    unfitted("power_loss_protection", "whether capacitors protect its cache"),
    reading("channel_mb_per_s", "what its channels carry"),
    unfitted("overtaking_reads", "how many reads overtake a program or an erase"),
    unfitted("suspend_stop", "how soon it suspends a program for a read"),
    unfitted("victims", "how its firmware chooses what it collects"),
    unfitted("map_cache_bytes", "how much of its map is in memory"),
    unfitted("slc_bytes", "how much it writes as SLC first"),
    unfitted("slc_free_share", "how much of its free space it writes as SLC"),
    unfitted("throttle_after", "how much it moves until it is hot"),
    unfitted("throttle_mb_per_s", "how fast it is when it is hot"),
    reading("latency", "how long its network and servers take"),
    unfitted("slc_program", "how fast it programs SLC"),
    reading("read_processing", "what its controller needs for a read"),
    unfitted("write_processing", "what its controller needs for a write"),
    unfitted("flush_processing", "what its controller needs for a flush"),
    reading("command_processing", "what its controller needs for each command alone"),
];

const fn unfitted(key: &'static str, words: &'static str) -> Unknown {
    Unknown { key, words, found_by: FoundBy::NoFit }
}

const fn reading(key: &'static str, words: &'static str) -> Unknown {
    Unknown { key, words, found_by: FoundBy::Reads }
}

const fn writing(key: &'static str, words: &'static str) -> Unknown {
    Unknown { key, words, found_by: FoundBy::Writes }
}

/// The words for a key; none for a key without words.
pub fn find(key: &str) -> Option<Unknown> {
    UNKNOWNS.iter().find(|known| known.key == key).copied()
}

/// The key in words; a key without words is returned unchanged.
pub fn in_words(key: &str) -> String {
    find(key).map_or_else(|| format!("its `{key}`"), |known| known.words.to_owned())
}
