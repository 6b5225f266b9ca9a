// The operations that reductions know.
const SUM = 0u;
const MAXIMUM = 1u;
