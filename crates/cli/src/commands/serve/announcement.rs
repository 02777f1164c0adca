//! What `serve` says when it is ready.

use drivelab_serve::server::{Backend, Endpoint, Scheduling, Server};

use super::ServeArgs;

/// Where the drive is to be found, and what its timing is worth.
pub(super) fn announce<B: Backend>(
    arguments: &ServeArgs,
    server: &Server<B>,
    real_time: bool,
) -> String {
    let mut text = match (&arguments.drive, &arguments.backing) {
        (_, Some(path)) => format!("serving {}", path.display()),
        (name, None) => {
            let name = name.as_deref().unwrap_or_default();
            format!("serving {name}, seed {}", arguments.seed)
        }
    };
    if let Some(endpoint) = server.nbd_endpoint() {
        text.push_str(&match &endpoint {
            Endpoint::Unix(path) => format!("\n  nbd      nbd+unix:///?socket={}", path.display()),
            Endpoint::Tcp(address) => format!("\n  nbd      nbd://{address}"),
        });
    }
    if let Some(path) = &arguments.fuse {
        text.push_str(&format!("\n  file     {}", path.display()));
    }
    #[cfg(feature = "ublk")]
    if let Some(path) = server.block_device() {
        text.push_str(&format!("\n  block    {}", path.display()));
    }
    if let Some(endpoint) = server.control_endpoint() {
        text.push_str(&format!("\n  control  {endpoint}"));
    }
    if !real_time {
        return text;
    }
    if let Scheduling::Normal(why) = server.scheduling() {
        text.push_str(&format!("\n  timing   {why}; answers may be late on a busy machine"));
    } else if !server.keeps_awake() {
        text.push_str("\n  timing   /dev/cpu_dma_latency is not ours: processors may oversleep");
    }
    text
}
