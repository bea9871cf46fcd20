//! The synchronisation that concurrent filters are built from, behind names that a model checker can take over.
//!
//! Built with `--cfg loom`, every name here is loom's, so that `tests/loom.rs` explores the interleavings of the
//! code that ships and not of a copy of it. Otherwise they are the standard library's atomics, `parking_lot`'s
//! locks and `arc-swap`'s pointer, and cost nothing.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::ops::Deref;
use std::sync::Arc;

/// A lock that one thread holds at a time.
#[derive(Debug)]
pub(crate) struct Mutex<T>(#[cfg(loom)] loom::sync::Mutex<T>, #[cfg(not(loom))] parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        #[cfg(loom)]
        return Self(loom::sync::Mutex::new(value));
        #[cfg(not(loom))]
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> impl std::ops::DerefMut<Target = T> + '_ {
        #[cfg(loom)]
        return self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        #[cfg(not(loom))]
        self.0.lock()
    }
}

/// An immutable value that is replaced as a whole: readers take the value of the moment and never wait.
///
/// loom has no model of `arc-swap`; a lock stands in for it there. It gives what `arc-swap` promises, an atomic
/// load and store with acquire and release ordering, so what is checked is the protocol around the pointer.
pub(crate) struct Published<T>(
    #[cfg(loom)] loom::sync::Mutex<Arc<T>>,
    #[cfg(not(loom))] arc_swap::ArcSwap<T>,
);

impl<T> Published<T> {
    pub(crate) fn new(value: T) -> Self {
        #[cfg(loom)]
        return Self(loom::sync::Mutex::new(Arc::new(value)));
        #[cfg(not(loom))]
        Self(arc_swap::ArcSwap::from_pointee(value))
    }

    /// The value now. What was published before stays valid for as long as it is held.
    #[inline]
    pub(crate) fn load(&self) -> impl Deref<Target = Arc<T>> + '_ {
        #[cfg(loom)]
        return Held(Arc::clone(&self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)));
        #[cfg(not(loom))]
        self.0.load()
    }

    /// The value now, for good. Nothing else holds it, for what [`load`](Self::load) gives borrows from `self`.
    pub(crate) fn into_inner(self) -> T {
        #[cfg(loom)]
        let value = self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        #[cfg(not(loom))]
        let value = self.0.into_inner();
        Arc::into_inner(value).expect("no reader outlives its borrow")
    }

    /// Replaces the value.
    pub(crate) fn publish(&self, value: T) {
        #[cfg(loom)]
        {
            *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(value);
        }
        #[cfg(not(loom))]
        self.0.store(Arc::new(value));
    }
}

#[cfg(loom)]
struct Held<T>(T);

#[cfg(loom)]
impl<T> Deref for Held<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
