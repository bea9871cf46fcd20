//! Bloomline.

pub mod hash;
pub mod line;
