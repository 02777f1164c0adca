//! The message of a server when it is ready.

use crate::server::endpoint::Listener;
use crate::server::realtime::Scheduling;
use crate::server::{Backend, Endpoint, Server};

fn add_line(text: &mut String, what: &str, value: &str) {
    text.push_str(&format!("\n  {what:<9}{value}"));
}

impl<B: Backend> Server<B> {
    /// Returns the addresses of the drive, called `name`, and the quality of its timing.
    pub fn announcement(&self, name: &str) -> String {
        let mut text = format!("serving {name}");
        match self.nbd.as_ref().map(Listener::endpoint) {
            Some(Endpoint::Unix(path)) => {
                add_line(&mut text, "nbd", &format!("nbd+unix:///?socket={}", path.display()));
            }
            Some(Endpoint::Tcp(address)) => add_line(&mut text, "nbd", &format!("nbd://{address}")),
            None => {}
        }
        if let Some(path) = &self.settings.fuse {
            add_line(&mut text, "file", &path.display().to_string());
        }
        #[cfg(feature = "ublk")]
        if let Some(path) = self.block_device() {
            add_line(&mut text, "block", &path.display().to_string());
        }
        if let Some(listener) = &self.control {
            add_line(&mut text, "control", &listener.endpoint().to_string());
        }
        match &self.timing.scheduling {
            _ if !self.settings.real_time => {}
            Scheduling::Normal(why) => {
                add_line(
                    &mut text,
                    "timing",
                    &format!("{why}; answers may be late on a busy machine"),
                );
            }
            Scheduling::Fifo if self.timing.cpu_latency.is_permitted() => {}
            Scheduling::Fifo => {
                add_line(
                    &mut text,
                    "timing",
                    "/dev/cpu_dma_latency is not ours: processors may oversleep",
                );
            }
        }
        text
    }
}
