//! An analytic approximation of random read rates, which the emulator corrects.
//!
//! A drive is a closed network: a delay, dies that an address selects at random, and the wire,
//! which carries one answer at a time. Mean value analysis (Reiser and Lavenberg 1980) with service
//! times that are not exponential (Reiser 1979): an arriving read finds the remainder of the one in
//! service, half of it if all service times are equal. Accurate to some percent of the simulation.

/// A drive as such a network; times in us.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Network {
    /// The constant part of every read.
    pub(super) delay: f64,
    /// Service time of a die for a page.
    pub(super) die: f64,
    /// The square of its coefficient of variation.
    pub(super) die_scatter: f64,
    pub(super) dies: f64,
    /// Pages of a read.
    pub(super) pages: f64,
    /// Pages of a read that one die reads in sequence.
    pub(super) in_turn: f64,
    /// Service time of the wire for an answer.
    pub(super) wire: f64,
}

impl Network {
    /// Reads a second with `depth` outstanding.
    pub(super) fn rate(&self, depth: u32) -> f64 {
        debug_assert!(self.dies >= 1.0 && self.pages > 0.0, "{self:?}");
        debug_assert!(depth > 0, "without a request outstanding nothing completes");
        let visits = self.pages / self.dies;
        let (mut at_die, mut at_wire, mut rate) = (0.0, 0.0, 0.0);
        let most = 1.0 / (visits * self.die).max(self.wire).max(1e-9);
        for outstanding in 1..=depth {
            // One more request in each step sees the network as the requests before it left it.
            let busy = (rate * visits * self.die).min(1.0);
            let rest = 0.5 * (1.0 + self.die_scatter);
            let die = self.die * (1.0 + (at_die - busy).max(0.0) + busy * rest);
            let sends = (rate * self.wire).min(1.0);
            let wire = self.wire * (1.0 + (at_wire - sends).max(0.0) + sends * 0.5);
            rate = f64::from(outstanding) / (self.delay + self.in_turn * die + wire);
            rate = rate.min(most);
            at_die = rate * visits * die;
            at_wire = rate * wire;
        }
        1e6 * rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(delay: f64, dies: f64, wire: f64) -> Network {
        let (die, die_scatter, pages, in_turn) = (60.0, 0.0, 1.0, 1.0);
        Network { delay, die, die_scatter, dies, pages, in_turn, wire }
    }

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found / expected - 1.0).abs() < within, "{found} for {expected}");
    }

    #[test]
    fn one_read_takes_the_sum_of_its_parts() {
        near(network(20.0, 8.0, 10.0).rate(1), 1e6 / 90.0, 1e-9);
    }

    #[test]
    fn deep_queues_reach_what_is_slowest() {
        // The wire: 10 us a read. One die: 60.
        near(network(20.0, 64.0, 10.0).rate(32), 100_000.0, 0.02);
        near(network(20.0, 1.0, 1.0).rate(32), 1e6 / 60.0, 0.02);
    }

    #[test]
    fn exponential_dies_meet_the_closed_form() {
        // X(d) / X(1) = D d / (D + d - 1) without delay and wire.
        let of = |depth| Network { die_scatter: 1.0, ..network(0.0, 8.0, 0.0) }.rate(depth);
        for depth in [2, 4, 8, 32] {
            let (d, dies) = (f64::from(depth), 8.0);
            near(of(depth) / of(1), dies * d / (dies + d - 1.0), 1e-9);
        }
    }
}
