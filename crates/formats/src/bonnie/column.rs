//! The phases of bonnie++ and the columns each has.

use drivelab_core::record::Better;

/// The work of a phase, as far as it determines the nature of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// One byte per system call, over 3 MiB.
    Bytes,
    /// Chunks of the big file, in order.
    Chunks,
    /// Chunks at random, from several threads.
    Seeks,
    /// Creates or deletes files, then `sync()`.
    Names,
    /// Looks files up.
    Stats,
}

/// One phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Phase {
    pub(super) name: &'static str,
    pub(super) work: Work,
}

const fn phase(name: &'static str, work: Work) -> Phase {
    Phase { name, work }
}

/// All phases, in the order of the columns.
pub(super) const PHASES: [Phase; 12] = [
    phase("putc", Work::Bytes),
    phase("put_block", Work::Chunks),
    phase("rewrite", Work::Chunks),
    phase("getc", Work::Bytes),
    phase("get_block", Work::Chunks),
    phase("seeks", Work::Seeks),
    phase("seq_create", Work::Names),
    phase("seq_stat", Work::Stats),
    phase("seq_del", Work::Names),
    phase("ran_create", Work::Names),
    phase("ran_stat", Work::Stats),
    phase("ran_del", Work::Names),
];

/// Phases on the big file; the rest is on many small ones.
pub(super) const FILE_PHASES: usize = 6;

/// The kinds of columns of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rate,
    Cpu,
    Latency,
}

impl Kind {
    pub(super) fn better(self) -> Better {
        if self == Self::Rate { Better::More } else { Better::Less }
    }

    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Rate => "a rate such as `52686`, `228.9` or `+++++`",
            Self::Cpu => "a percentage such as `15` or `+++`",
            Self::Latency => "a time such as `169us`, `1403ms` or `12s`",
        }
    }
}

/// One column of a phase.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) unit: &'static str,
}

/// The columns of a phase.
pub(super) fn parts(phase: &Phase) -> [Part; 3] {
    let rate = match phase.work {
        Work::Bytes | Work::Chunks => "KiB/s",
        Work::Seeks | Work::Names | Work::Stats => "1/s",
    };
    [
        Part { kind: Kind::Rate, name: phase.name.to_owned(), unit: rate },
        Part { kind: Kind::Cpu, name: format!("{}_cpu", phase.name), unit: "%" },
        Part { kind: Kind::Latency, name: format!("{}_latency", phase.name), unit: "us" },
    ]
}
