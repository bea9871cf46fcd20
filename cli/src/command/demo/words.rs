//! The demo's keys: real words, and keys that look like them and are none.

use std::collections::HashSet;

/// Debian's `american-english`, from package `wamerican`: see `fixtures/README.md`. It is part of the program, so
/// that the demo runs wherever the program does.
const WORDS: &str = include_str!("../../../words.txt");

/// The words, in the order of the list.
pub(super) fn words() -> Vec<&'static str> {
    WORDS.lines().collect()
}

/// `count` different keys that are no words: words with one letter put in, such as a typing error makes. The same
/// every time.
pub(super) fn absent_keys(words: &[&str], count: usize) -> Vec<String> {
    let known: HashSet<&str> = words.iter().copied().collect();
    let mut seen = HashSet::with_capacity(count);
    let mut keys = Vec::with_capacity(count);
    // Round by round every word gets another letter at another place.
    for (round, letter) in ('a'..='z').cycle().enumerate() {
        for word in words {
            if keys.len() == count {
                return keys;
            }
            let places: Vec<usize> =
                word.char_indices().map(|(place, _)| place).chain([word.len()]).collect();
            let mut key = (*word).to_owned();
            key.insert(places[(round * 5 + word.len()) % places.len()], letter);
            if !known.contains(key.as_str()) && seen.insert(key.clone()) {
                keys.push(key);
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_keys_are_absent_different_and_the_same_every_time() {
        let words = words();
        assert_eq!(words.len(), 104_334);
        let keys = absent_keys(&words, 250_000);
        let distinct: HashSet<&str> = keys.iter().map(String::as_str).collect();
        assert_eq!((keys.len(), distinct.len()), (250_000, 250_000));
        assert!(words.iter().all(|word| !distinct.contains(word)));
        assert_eq!(keys, absent_keys(&words, 250_000));
    }
}
