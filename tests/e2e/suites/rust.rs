// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two deposits at once may come to one, see cases.h.
use std::sync::{Arc, Mutex};
use std::thread;

fn add(balance: &Mutex<i64>, n: i64) {
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + n;
}

pub fn deposit(n: i64) -> i64 {
    let balance = Arc::new(Mutex::new(0));
    let ours = balance.clone();
    let other = thread::spawn(move || add(&ours, n));
    add(&balance, n);
    other.join().unwrap();
    let sum = *balance.lock().unwrap();
    sum
}

#[test]
fn is_there() {
    assert!(deposit(1) >= 1);
}

mod account {
    #[test]
    fn has_all() {
        assert_eq!(super::deposit(8), 16);
    }

    #[test]
    #[ignore]
    fn is_no_bank() {
        assert_eq!(super::deposit(1), 0);
    }
}
