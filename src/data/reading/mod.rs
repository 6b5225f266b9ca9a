//! Reading: from files to rows.

pub(crate) mod all_rows;
pub(crate) mod blanks;
pub(crate) mod csv_table;
pub(crate) mod delivery;
pub(crate) mod first_rows;
pub(crate) mod foreign;
pub(crate) mod layouts;
pub(crate) mod locate;
pub(crate) mod merge;
pub(crate) mod npy;
pub(crate) mod npy_files;
pub(crate) mod npz;
pub(crate) mod options;
pub(crate) mod pieces;
pub(crate) mod records;
pub(crate) mod row_parser;
pub(crate) mod stream;
pub(crate) mod subsets;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod zstd;
