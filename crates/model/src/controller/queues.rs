//! The queue pairs of an `NVMe` controller.

use std::fmt;

use drivelab_core::choice_as_text;
use drivelab_core::config::{Choice, Value};
use drivelab_core::{Invalid, invalid};

/// The queue pairs of an `NVMe` controller, and their arbitration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct QueuePairs {
    /// Number of queues; each submitter uses one.
    pub count: usize,
    /// Commands in progress at the controller, from all queues.
    pub commands_at_once: usize,
    /// Commands fetched from one queue before the next.
    pub burst: Burst,
    /// Classes of queues; `None` for plain round robin.
    pub weighted: Option<Weighted>,
}

impl fmt::Display for QueuePairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.count, self.weighted) {
            (1, _) => return f.write_str("1"),
            (count, None) => write!(f, "{count} in turn, {} at a time", self.burst)?,
            (count, Some(Weighted { priorities, weights })) => {
                write!(f, "{count} by weight {weights}, {} at a time: {priorities}", self.burst)?;
            }
        }
        write!(f, "; {} commands at once from all", self.commands_at_once)
    }
}

/// Weighted round robin with an urgent class (NVM Express 1.3, section 4.11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Weighted {
    /// The class of each queue.
    pub priorities: Priorities,
    /// Commands of each class in a round.
    pub weights: Weights,
}

/// The most queues of a modelled controller.
pub(crate) const QUEUES_MAX: u32 = 64;

/// The class of a submission queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Served before all others.
    Urgent,
    /// By the first weight.
    High,
    /// By the second weight.
    Medium,
    /// By the third weight.
    Low,
}

impl Choice for Priority {
    const WHAT: &'static str = "priority of a queue";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("urgent", Self::Urgent),
        ("high", Self::High),
        ("medium", Self::Medium),
        ("low", Self::Low),
    ];
}
choice_as_text!(Priority);

/// The class of each queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priorities {
    of: [Priority; QUEUES_MAX as usize],
    count: usize,
}

impl Priorities {
    /// Number of queues with a priority.
    pub fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn of(&self, queue: usize) -> Priority {
        debug_assert!(queue < self.count, "queue {queue} of {}", self.count);
        self.of[queue]
    }
}

impl Value for Priorities {
    fn read(text: &str) -> Result<Self, Invalid> {
        // A fixed array keeps the options `Copy`, which all of their users rely on.
        let mut found = Self { of: [Priority::Medium; QUEUES_MAX as usize], count: 0 };
        for name in text.split('/') {
            let next = found.of.get_mut(found.count);
            let next = next.ok_or_else(|| format!("more than {QUEUES_MAX} priorities"))?;
            *next = Priority::read(name)?;
            found.count += 1;
        }
        Ok(found)
    }
}

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, priority) in self.of[..self.count].iter().enumerate() {
            write!(f, "{}{priority}", if index == 0 { "" } else { "/" })?;
        }
        Ok(())
    }
}

/// Commands of the classes high, medium and low in a round, 1 to 256 each
/// (NVM Express 1.3, section 5.21.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights([u32; 3]);

impl Weights {
    /// The default: each class twice the one below. Our choice.
    pub(crate) const DOUBLING: Self = Self([4, 2, 1]);

    /// Prepends a weight for the urgent class, which does not use it.
    pub(crate) fn by_class(self) -> [u32; 4] {
        let [high, medium, low] = self.0;
        [1, high, medium, low]
    }
}

impl Value for Weights {
    fn read(text: &str) -> Result<Self, Invalid> {
        let weights: Option<Vec<u32>> = text
            .split('/')
            .map(|part| part.parse().ok().filter(|weight| (1..=256).contains(weight)))
            .collect();
        let weights = weights.and_then(|weights| weights.try_into().ok());
        weights.map(Self).ok_or_else(|| {
            invalid!(
                "`{text}` is not three weights from 1 to 256: write `high/medium/low`, as `4/2/1`"
            )
        })
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [high, medium, low] = self.0;
        write!(f, "{high}/{medium}/{low}")
    }
}

/// Commands fetched from one queue before the next: a power of two up to 64, or no limit
/// (NVM Express 1.3, section 5.21.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst(u32);

impl Burst {
    /// One command from each queue.
    pub(crate) const ONE: Self = Self(1);
    const UNLIMITED: Self = Self(u32::MAX);

    pub(crate) fn commands(self) -> u32 {
        self.0
    }
}

impl Value for Burst {
    fn read(text: &str) -> Result<Self, Invalid> {
        let count = text.parse().ok().filter(|count: &u32| count.is_power_of_two() && *count <= 64);
        match count {
            Some(count) => Ok(Self(count)),
            None if text == "unlimited" => Ok(Self::UNLIMITED),
            None => Err(invalid!("`{text}` is not a power of two from 1 to 64, or `unlimited`")),
        }
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UNLIMITED => f.write_str("unlimited"),
            Self(count) => count.fmt(f),
        }
    }
}

macro_rules! serialize_as_text {
    ($($type:ty),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}
serialize_as_text!(Priorities, Weights, Burst);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back_and_the_rest_is_refused() {
        let check = |text: &str, read: fn(&str) -> Result<String, Invalid>, fine: bool| {
            let expected = fine.then(|| text.to_owned());
            assert_eq!(read(text).ok(), expected, "{text}");
        };
        let priorities = |text: &str| Priorities::read(text).map(|it| it.to_string());
        check("high/low/urgent/medium", priorities, true);
        check("high/", priorities, false);
        check(&["low"; 65].join("/"), priorities, false);
        let weights = |text: &str| Weights::read(text).map(|it| it.to_string());
        check("256/2/1", weights, true);
        check("4/2", weights, false);
        check("4/2/0", weights, false);
        check("257/2/1", weights, false);
        let burst = |text: &str| Burst::read(text).map(|it| it.to_string());
        check("64", burst, true);
        check("unlimited", burst, true);
        check("3", burst, false);
        check("128", burst, false);
    }
}
