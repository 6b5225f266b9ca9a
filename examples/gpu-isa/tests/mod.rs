//! Tests of the parts, which run everywhere, and of the machine code of all that is shipped.

mod bounds;
mod parts;
mod shipped;
