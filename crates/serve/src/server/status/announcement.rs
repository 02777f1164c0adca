//! The message of a server when it is ready.

use crate::server::endpoint::Listener;
use crate::server::realtime::Scheduling;
use crate::server::{Backend, Endpoint, Server};

impl<B: Backend> Server<B> {
    /// Where the drive, called `name`, is available, and the quality of its timing.
    pub fn announcement(&self, name: &str) -> String {
        let mut text = format!("serving {name}");
        let mut line = |what: &str, value: &str| text.push_str(&format!("\n  {what:<9}{value}"));
        match self.nbd.as_ref().map(Listener::endpoint) {
            Some(Endpoint::Unix(path)) => {
                line("nbd", &format!("nbd+unix:///?socket={}", path.display()));
            }
            Some(Endpoint::Tcp(address)) => line("nbd", &format!("nbd://{address}")),
            None => {}
        }
        if let Some(path) = &self.settings.fuse {
            line("file", &path.display().to_string());
        }
        #[cfg(feature = "ublk")]
        if let Some(path) = self.block_device() {
            line("block", &path.display().to_string());
        }
        if let Some(listener) = &self.control {
            line("control", &listener.endpoint().to_string());
        }
        match &self.timing.scheduling {
            _ if !self.settings.real_time => {}
            Scheduling::Normal(why) => {
                line("timing", &format!("{why}; answers may be late on a busy machine"));
            }
            Scheduling::Fifo if self.timing.cpu_latency.is_permitted() => {}
            Scheduling::Fifo => {
                line("timing", "/dev/cpu_dma_latency is not ours: processors may oversleep");
            }
        }
        text
    }
}
