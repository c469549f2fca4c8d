//! Devices, tensors and launches of Tiki: NVIDIA GPU and CPU virtual machine.
