//! How the host's speed wanders during a session, in units of the run-to-run deviation.

use crate::truth::random::Random;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Drift {
    None,
    /// A rise by one deviation (3 %) over the session.
    Linear,
    /// First-order autoregressive with this correlation and a deviation of one.
    Ar(f64),
    /// A step by one deviation somewhere in the middle half.
    Step,
}

impl Drift {
    pub(crate) const ALL: [Self; 5] =
        [Self::None, Self::Linear, Self::Ar(0.5), Self::Ar(0.9), Self::Step];

    /// Returns the drift at each of `slots` runs, one after the other.
    #[expect(clippy::cast_precision_loss, reason = "a session has tens of runs")]
    pub(crate) fn draw(self, slots: usize, random: &mut Random) -> Vec<f64> {
        match self {
            Self::None => vec![0.0; slots],
            Self::Linear => (0..slots).map(|slot| slot as f64 / (slots - 1) as f64).collect(),
            Self::Ar(correlation) => autoregressive(correlation, slots, random),
            Self::Step => {
                let at = slots / 4 + random.below(slots / 2);
                (0..slots).map(|slot| if slot < at { 0.0 } else { 1.0 }).collect()
            }
        }
    }
}

fn autoregressive(correlation: f64, slots: usize, random: &mut Random) -> Vec<f64> {
    let innovation = (1.0 - correlation * correlation).sqrt();
    // Starts in the stationary distribution.
    let mut level = random.normal();
    let mut next = || {
        let now = level;
        level = correlation * level + innovation * random.normal();
        now
    };
    (0..slots).map(|_| next()).collect()
}
