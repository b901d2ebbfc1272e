//! What a recording means: boot phases, services, devices, processes, CPU, disk.
