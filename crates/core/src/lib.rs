//! The language of the laboratory: units, requests, workloads, plans, records, and the two traits.
