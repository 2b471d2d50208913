//! fake-nvml
