//! The twin of DiskSim's disk model, which exists to be held against DiskSim's traces and the
//! measured disks behind them. A laboratory's user wants `drivelab-model` instead.
#![forbid(unsafe_code)]
