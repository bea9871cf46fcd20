//! Bloomline.

pub mod error;
pub mod hash;
pub mod line;
