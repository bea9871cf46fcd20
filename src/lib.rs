//! Bloomline.

pub mod error;
pub mod funnel;
pub mod hash;
pub mod line;
