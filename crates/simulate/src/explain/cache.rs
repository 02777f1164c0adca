//! Rates that were simulated before.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// Rates that were simulated, by a hash of all that they depend on.
#[derive(Debug, Default)]
pub struct Cache {
    made: Mutex<BTreeMap<String, Vec<f64>>>,
}

const HELD: &str = "no thread panics while it holds the rates";

impl Cache {
    /// A cache that has these rates.
    pub fn of(made: BTreeMap<String, Vec<f64>>) -> Self {
        Self { made: Mutex::new(made) }
    }

    /// All rates.
    pub fn all(&self) -> BTreeMap<String, Vec<f64>> {
        self.made.lock().expect(HELD).clone()
    }

    /// The rates of a key, if there are as many as loads.
    pub(super) fn get(&self, key: &str, loads: usize) -> Option<Vec<f64>> {
        let made = self.made.lock().expect(HELD).get(key).cloned();
        made.filter(|rates| rates.len() == loads)
    }

    /// Keeps the rates of a key.
    pub(super) fn keep(&self, key: String, rates: Vec<f64>) {
        self.made.lock().expect(HELD).insert(key, rates);
    }
}
