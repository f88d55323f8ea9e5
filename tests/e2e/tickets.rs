// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Rust: a counter that is unsafely shared. Two threads draw the same number.
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::thread;

mod office {
    use super::*;

    pub struct Tickets<T> {
        next: UnsafeCell<T>,
    }

    // No lock stands behind this promise.
    unsafe impl<T> Sync for Tickets<T> {}

    impl Tickets<u64> {
        pub fn new() -> Self {
            Tickets { next: UnsafeCell::new(0) }
        }

        pub fn draw(&self) -> u64 {
            unsafe {
                let number = *self.next.get();
                *self.next.get() = number + 1;
                number
            }
        }
    }
}

fn main() {
    let tickets = Arc::new(office::Tickets::new());
    let drawers: Vec<_> = (0..2)
        .map(|_| {
            let tickets = Arc::clone(&tickets);
            thread::spawn(move || tickets.draw())
        })
        .collect();
    let mut drawn: Vec<u64> = drawers.into_iter().map(|d| d.join().unwrap()).collect();
    drawn.sort();
    assert_eq!(drawn, [0, 1], "a number was drawn twice");
}
