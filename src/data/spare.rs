//! Memory that is used again: what is new would have to be mapped and filled with zeros first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is not needed any more, for those that need some next. All clones have the same.
#[derive(Debug)]
pub(super) struct Spare<T>(Arc<Mutex<Vec<T>>>);

impl<T> Spare<T> {
    /// One of them; nothing if there is none.
    pub(super) fn take(&self) -> Option<T> {
        self.lock().pop()
    }

    /// One more.
    pub(super) fn put(&self, spare: T) {
        self.lock().push(spare);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Spare<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
