//! The device of a trace: a drive replays the requests of one.

use drivelab_core::{Invalid, invalid};

/// The device whose requests are replayed.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// Its name, if one was chosen.
    chosen: Option<String>,
    /// The first device with a request.
    first: Option<String>,
    /// Requests of devices that were not chosen.
    others: u64,
}

impl Device {
    pub(super) fn new(chosen: Option<String>) -> Self {
        Self { chosen, ..Self::default() }
    }

    /// True if a request of `name` is replayed; `what` names such devices in messages.
    ///
    /// Addresses of two devices are not addresses of one drive.
    pub(super) fn takes(&mut self, name: &str, what: &str) -> Result<bool, Invalid> {
        // Kept even if another device was chosen: it is the suggestion if that one never comes.
        let first = self.first.get_or_insert_with(|| name.to_owned());
        let Some(chosen) = &self.chosen else {
            if first == name {
                return Ok(true);
            }
            return Err(invalid!(
                "the trace contains requests of {what} {first} and {name}, but a drive replays \
                 one: name it, for example `--device {first}`"
            ));
        };
        let is_chosen = chosen == name;
        self.others += u64::from(!is_chosen);
        Ok(is_chosen)
    }

    /// True if requests of `name` are replayed, as far as is known.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.chosen.as_deref().or(self.first.as_deref()).is_none_or(|device| device == name)
    }

    /// The device that was asked for.
    pub(super) fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// The first device with a request.
    pub(super) fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// Requests of devices that were not chosen.
    pub(super) fn others(&self) -> u64 {
        self.others
    }
}
