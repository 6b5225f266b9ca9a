use tinytrain::kernels::{ScanAdd, StepRecord, blocks, pad_rows};
use tinytrain::reference::ops;

use crate::lab::{everywhere, labels};

/// Lengths and blocks: nothing to add, one element after the first block, blocks of one vec4, a short last
/// block.
const SHAPES: [(usize, usize); 6] = [(1, 4), (4, 4), (5, 4), (63, 8), (1025, 512), (1500, 4)];

#[test]
fn every_block_gets_its_offset() {
    everywhere(|lab, tuning| {
        for (length, block) in SHAPES {
            let mut offsets: Vec<u32> = (0..length.div_ceil(block) as u32).map(|i| i * i + 7).collect();
            offsets[0] = 0;
            let y = labels(length, 100);
            let output = lab.output(4 * blocks(length));
            lab.context.queue.write_buffer(&output.buffer, 0, bytemuck::cast_slice(&pad_rows(&y, length)));
            let kernel = ScanAdd { length, block, integers: true };
            lab.run(&kernel, tuning, &[&lab.upload(&offsets), &output.buffer], StepRecord::default());
            let padded = lab.words(&output);
            assert_eq!(padded[..length], ops::scan_add(&y, &offsets, block), "{length} by {block}");
            assert!(padded[length..].iter().all(|word| *word == 0), "the padding of {length}");
        }
    });
}
