//! A modelled drive as a target.

use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Bytes, Time};
use drivelab_core::{Completion, Device, Request, Target};

/// A [`Device`] in virtual time: waiting means jumping to its next event.
#[derive(Debug)]
pub struct VirtualTarget<D> {
    device: D,
    now: Time,
}

impl<D: Device> VirtualTarget<D> {
    /// Starts `device` at time zero.
    pub fn new(device: D) -> Self {
        Self { device, now: Time::ZERO }
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, as the last run left it.
    pub fn into_device(self) -> D {
        self.device
    }
}

impl<D: Device> Target for VirtualTarget<D> {
    #[inline]
    fn now(&mut self) -> Time {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.device.capacity().bytes()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        self.device.submit(self.now, request).map_err(Rejected::Full)
    }

    #[inline]
    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = completed.len();
        while completed.len() == before {
            match self.device.next_event() {
                // An event that lies in the past is due now: time does not run backwards.
                Some(event) if event <= until.max(self.now) => {
                    self.now = self.now.max(event);
                    self.device.advance(self.now, completed);
                }
                _ if until > self.now => {
                    self.now = until;
                    self.device.advance(until, completed);
                    break;
                }
                _ => break,
            }
        }
        Ok(())
    }
}
