// Operations of reductions.
const SUM = 0u;
const MAXIMUM = 1u;
