//! Guests: a real Linux kernel in virtual time, the disk that it sees and the time that it gets.
//!
//! A guest is User Mode Linux with time travel. [`calendar`] gives it its time, [`machine`] is the
//! hardware that it sees, [`vhost`] is the protocol between both, and [`boot`] runs it. All but the
//! last are pure. [`kernel`] builds the kernel, [`initramfs`] its root.
#![deny(unsafe_code)]

pub mod boot;
pub mod calendar;
pub mod chance;
pub mod cost;
pub mod crash;
pub mod initramfs;
pub mod kernel;
pub mod machine;
#[expect(unsafe_code, reason = "memory that is shared with a guest can only be mapped")]
pub mod mapped;
pub mod memory;
pub mod mirror;
pub mod mounted;
pub mod processor;
mod refusal;
pub mod setting;
pub mod stack;
pub mod trace;
pub mod vhost;

pub use refusal::no_kernel;
