"""Predict time, power and energy of networks on devices where they never ran: frames in, frames out."""
