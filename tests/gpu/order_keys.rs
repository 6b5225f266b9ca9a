use tinytrain::data::{BLOCK_ROWS, first_epoch_block, order};
use tinytrain::kernels::{OrderKeys, epoch_order};
use tinytrain::reference::ops;

use crate::lab::{batch, everywhere};

/// Seeds of one word and of two.
const SEEDS: [u64; 5] = [0, 7, 1 << 32, 0xdead_beef_cafe_f00d, u64::MAX];

#[test]
fn keys_are_the_words_of_the_host() {
    everywhere(|lab, tuning| {
        for (seed, epoch, first, length) in SEEDS
            .into_iter()
            .zip([1, 2, 77, u32::MAX, 3])
            .zip([0, 4096, 5, u32::MAX - 300, 1 << 31])
            .zip([257, 1, 1000, 300, 65])
            .map(|(((seed, epoch), first), length)| (seed, epoch, first, length))
        {
            let (keys, rows) = (lab.output(length), lab.output(length));
            let kernel = OrderKeys { length, first, seed, epoch };
            lab.run(&kernel, tuning, &[&keys.buffer, &rows.buffer], batch(0));
            let range = first..first + length as u32;
            assert_eq!(lab.words(&keys), ops::order_keys(seed, epoch, range.clone()), "{kernel:?}");
            assert_eq!(lab.words(&rows), range.collect::<Vec<u32>>());
        }
    });
}

#[test]
fn orders_are_those_of_the_host() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for (seed, epoch, range) in SEEDS
            .into_iter()
            .zip([1, 2, 9, 3, 1000])
            .zip([0..0, 0..1, 0..5000, 4096..4099, 100..1613])
            .map(|((seed, epoch), range)| (seed, epoch, range))
        {
            let got = epoch_order(&compute, seed, epoch, range.clone()).unwrap().read(&compute).unwrap();
            assert!(got == order(seed, epoch, range.clone()), "seed {seed}, epoch {epoch}, rows {range:?}");
        }
    });
}

#[test]
fn blocks_of_the_first_epoch_too() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let rows = BLOCK_ROWS + 17;
        for block in 0..2 {
            let (start, end) = (block * BLOCK_ROWS, rows.min((block + 1) * BLOCK_ROWS));
            let got = epoch_order(&compute, 5, 1, start as u32..end as u32).unwrap();
            assert!(got.read(&compute).unwrap() == first_epoch_block(5, block, rows), "block {block}");
        }
    });
}
