//! Software prefetching: the loops that ask for a line some keys before they use it.
//!
//! Far out of cache a lookup costs one trip to memory, some 80 ns, and a core can have ten or more such trips
//! under way. A loop that tests one key after the other starts few of them early; these loops start them all.

/// Keys of which the lines are on their way at a time. 32 covers the trips that a core can have under way, and
/// the lines of 32 keys stay in the first-level cache until they are used.
const DEPTH: usize = 32;

/// Calls `fetch` for each item some [`DEPTH`] items before `use_it` gets it, both in order, over a `target` that
/// `fetch` reads and `use_it` writes.
///
/// Inlined into kernels, so that the closures are compiled with the kernel's CPU features. Items are lent and not
/// copied, so that a kernel can load the halves of a hash apart.
#[inline(always)]
pub(super) fn fetch_ahead<S: ?Sized, T>(
    target: &mut S,
    items: &[T],
    fetch: impl Fn(&S, &T),
    mut use_it: impl FnMut(&mut S, &T),
) {
    let ahead = items.get(DEPTH..).unwrap_or_default();
    for item in &items[..items.len() - ahead.len()] {
        fetch(target, item);
    }
    for (item, next) in items.iter().zip(ahead) {
        fetch(target, next);
        use_it(target, item);
    }
    for item in &items[ahead.len()..] {
        use_it(target, item);
    }
}

/// [`fetch_ahead`] for questions: `answers[i]` becomes what `test` says of `items[i]`, of which there are as many.
#[inline(always)]
pub(super) fn answer_ahead<T>(
    items: &[T],
    answers: &mut [bool],
    fetch: impl Fn(&T),
    test: impl Fn(&T) -> bool,
) {
    let ahead = items.get(DEPTH..).unwrap_or_default();
    for item in &items[..items.len() - ahead.len()] {
        fetch(item);
    }
    let (first, last) = answers.split_at_mut(ahead.len());
    for ((answer, item), next) in first.iter_mut().zip(items).zip(ahead) {
        fetch(next);
        *answer = test(item);
    }
    for (answer, item) in last.iter_mut().zip(&items[ahead.len()..]) {
        *answer = test(item);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const LENGTHS: [usize; 6] = [0, 1, DEPTH - 1, DEPTH, DEPTH + 1, 5 * DEPTH + 3];

    #[test]
    fn every_item_is_fetched_ahead_and_used_once_in_order() {
        for len in LENGTHS {
            let items: Vec<usize> = (0..len).collect();
            let fetched = RefCell::new(Vec::new());
            let mut used = Vec::new();
            fetch_ahead(
                &mut used,
                &items,
                |_, &item| fetched.borrow_mut().push(item),
                |used, &item| {
                    assert_eq!(fetched.borrow().len(), len.min(item + DEPTH + 1));
                    used.push(item);
                },
            );
            assert_eq!(used, items);
            assert_eq!(fetched.into_inner(), items);
        }
    }

    #[test]
    fn every_item_is_fetched_ahead_and_answered_in_its_place() {
        for len in LENGTHS {
            let items: Vec<usize> = (0..len).collect();
            let fetched = RefCell::new(Vec::new());
            let mut answers = vec![false; len];
            answer_ahead(
                &items,
                &mut answers,
                |&item| fetched.borrow_mut().push(item),
                |&item| {
                    assert_eq!(fetched.borrow().len(), len.min(item + DEPTH + 1));
                    item % 3 == 0
                },
            );
            assert!(answers.iter().enumerate().all(|(i, &answer)| answer == (i % 3 == 0)));
            assert_eq!(fetched.into_inner(), items);
        }
    }
}
