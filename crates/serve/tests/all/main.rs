//! The served drive as its users meet it: what a power cut may take, and what it may not.

mod durability;
mod faults;
mod nbd;
mod power;
