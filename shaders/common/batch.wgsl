//#include batch_carrier
// Where the batch of this step stands. The last batch of an epoch may have fewer rows than the others.
struct Batch {
    first: u32,       // position of its first row in the epoch's order
    rows: u32,        // rows that are live; kernels neither read nor write beyond them
    slot: u32,        // which slot of the metrics belongs to it
    output: u32,      // where its first prediction goes
    next_rows: u32,   // rows of the batch behind it in the order, if that comes next in the same submission; else 0
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
