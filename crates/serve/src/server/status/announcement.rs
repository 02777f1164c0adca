//! What a server says when it is ready.

use crate::server::{Backend, Endpoint, Scheduling, Server};

impl<B: Backend> Server<B> {
    /// Where the drive, called `name`, is to be found, and what its timing is worth.
    pub fn announcement(&self, name: &str) -> String {
        let mut text = format!("serving {name}");
        if let Some(endpoint) = self.nbd_endpoint() {
            text.push_str(&match &endpoint {
                Endpoint::Unix(path) => {
                    format!("\n  nbd      nbd+unix:///?socket={}", path.display())
                }
                Endpoint::Tcp(address) => format!("\n  nbd      nbd://{address}"),
            });
        }
        if let Some(path) = &self.settings.fuse {
            text.push_str(&format!("\n  file     {}", path.display()));
        }
        #[cfg(feature = "ublk")]
        if let Some(path) = self.block_device() {
            text.push_str(&format!("\n  block    {}", path.display()));
        }
        if let Some(endpoint) = self.control_endpoint() {
            text.push_str(&format!("\n  control  {endpoint}"));
        }
        if !self.settings.real_time {
            return text;
        }
        if let Scheduling::Normal(why) = self.scheduling() {
            text.push_str(&format!(
                "\n  timing   {why}; completions may be late on a busy machine"
            ));
        } else if !self.keeps_awake() {
            text.push_str("\n  timing   cannot hold /dev/cpu_dma_latency: CPUs may wake up late");
        }
        text
    }
}
