//! Answers requests in virtual time: disks, links, controllers, schedulers.
