//! Software prefetching: the loops that ask for a line some keys before they use it.
//!
//! Far out of cache a lookup costs one trip to memory, some 80 ns, and a core can have ten or more such trips
//! under way. A loop that tests one key after the other starts few of them early; these loops start them all.

/// Keys of which the lines are on their way at a time. 32 covers the trips that a core can have under way, and
/// the lines of 32 keys stay in the first-level cache until they are used.
const DEPTH: usize = 32;

/// Calls `fetch` for each item some [`DEPTH`] items before `use_it` gets it; both go in order, and `use_it` is
/// told the item's index.
///
/// Inlined into kernels, so that the closures are compiled with the kernel's CPU features.
#[inline(always)]
pub(super) fn fetch_ahead<T: Copy>(items: &[T], fetch: impl Fn(T), mut use_it: impl FnMut(usize, T)) {
    let mut index = 0;
    fetch_ahead_mut(
        &mut (),
        items,
        |(), item| fetch(item),
        |(), item| {
            use_it(index, item);
            index += 1;
        },
    );
}

/// [`fetch_ahead`] over a `target` that `fetch` reads and `use_it` writes.
#[inline(always)]
pub(super) fn fetch_ahead_mut<S: ?Sized, T: Copy>(
    target: &mut S,
    items: &[T],
    fetch: impl Fn(&S, T),
    mut use_it: impl FnMut(&mut S, T),
) {
    let (first, rest) = items.split_at(items.len().min(DEPTH));
    for &item in first {
        fetch(target, item);
    }
    for (&item, &next) in items.iter().zip(rest) {
        fetch(target, next);
        use_it(target, item);
    }
    for &item in &items[rest.len()..] {
        use_it(target, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_fetched_ahead_and_used_once_in_order() {
        for len in [0, 1, DEPTH - 1, DEPTH, DEPTH + 1, 5 * DEPTH + 3] {
            let items: Vec<usize> = (0..len).collect();
            let fetched = std::cell::RefCell::new(Vec::new());
            let mut used = Vec::new();
            fetch_ahead(
                &items,
                |item| fetched.borrow_mut().push(item),
                |index, item| {
                    assert_eq!(index, item);
                    assert_eq!(fetched.borrow().len(), len.min(index + DEPTH + 1));
                    used.push(item);
                },
            );
            assert_eq!(used, items);
            assert_eq!(fetched.into_inner(), items);
        }
    }
}
