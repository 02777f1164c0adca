//! The cost of a guest's processor: virtual time for each system call and each copied byte.

use std::fmt;

use drivelab_core::config::Value as _;
use drivelab_core::units::Span;
use drivelab_core::{Invalid, invalid};

/// The costs of a system call and of copying between kernel and program. Computations, page faults
/// and kernel threads cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// Each system call.
    pub call: Span,
    /// Each 1024 bytes that are copied from or to a program's memory.
    pub kib: Span,
}

/// No parameter of the kernel is larger, and no processor as slow.
const COST_MAX: Span = Span::from_ms(1);
const FREE: &str = "free";
const MODELLED: &str = "modelled";

impl Processor {
    /// An infinitely fast processor.
    pub const FREE: Self = Self { call: Span::from_ns(0), kib: Span::from_ns(0) };
    /// A processor of the 2020s. Source: reads of the page cache of 512 bytes take 0.66 to 0.76 us
    /// and those of 4 KiB 0.66 to 1.03 us (docs/internals/engine.md, "Processor time per request"),
    /// and files in memory are copied at some 10 GiB/s.
    pub const MODELLED: Self = Self { call: Span::from_ns(600), kib: Span::from_ns(100) };

    /// Reads `free`, `modelled`, or the two costs, as in `600ns,100ns`.
    ///
    /// # Errors
    /// Returns the error, in a sentence.
    pub fn read(text: &str) -> Result<Self, Invalid> {
        match text {
            FREE => return Ok(Self::FREE),
            MODELLED => return Ok(Self::MODELLED),
            _ => {}
        }
        let costs = text.split_once(',').and_then(|(call, kib)| {
            let [call, kib] = [call, kib].map(|cost| Span::read(cost.trim()).ok());
            Some(Self { call: call?, kib: kib? })
        });
        costs.filter(|costs| costs.call.max(costs.kib) <= COST_MAX).ok_or_else(|| {
            invalid!(
                "`{text}` is not the cost of a processor: `{FREE}`, `{MODELLED}`, or the time of a \
                 system call and of copying 1 KiB, each at most {COST_MAX}, such as `{}`",
                Self::MODELLED
            )
        })
    }

    /// A word of the kernel command line; the kernel charges nothing without it.
    pub fn argument(self) -> Option<String> {
        let Self { call, kib } = self;
        (self != Self::FREE).then(|| format!("processor_cost={},{}", call.ns(), kib.ns()))
    }

    /// Describes the costs, as a part of a sentence.
    pub fn words(self) -> String {
        let Self { call, kib } = self;
        if self == Self::FREE {
            return "processor time costs nothing".to_owned();
        }
        format!("a system call takes {call} and copying 1 KiB {kib}, other processor time nothing")
    }
}

/// As it is read; `free` is the only word.
impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, kib } = self;
        if *self == Self::FREE { f.write_str(FREE) } else { write!(f, "{call},{kib}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_reads_back_and_nonsense_is_refused() {
        let check = |text: &str, expected: &str| {
            let read = Processor::read(text).unwrap();
            assert_eq!(read.to_string(), expected);
            assert_eq!(Processor::read(expected), Ok(read));
        };
        check("free", "free");
        check("modelled", "600ns,100ns");
        check("1us, 250ns", "1us,250ns");
        check("0ns,0ns", "free");
        for text in ["", "fast", "600ns", "600ns,", "600ns,100ns,1ns", "2ms,1ns", "-1ns,1ns"] {
            let refused = Processor::read(text).unwrap_err();
            assert!(refused.0.contains("`600ns,100ns`"), "{text}: {refused}");
        }
    }

    #[test]
    fn a_free_processor_leaves_the_kernel_command_line_as_it_is() {
        assert_eq!(Processor::FREE.argument(), None);
        assert_eq!(Processor::MODELLED.argument().as_deref(), Some("processor_cost=600,100"));
    }
}
