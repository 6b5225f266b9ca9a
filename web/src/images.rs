//! Images as MNIST publishes them.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use tinytrain::{ReadOptions, Reader};
use wasm_bindgen::prelude::*;

use crate::errors::{Result, of_library};

/// Images to train on and to test on: the bytes of four IDX files, plain or packed by gzip.
#[wasm_bindgen]
pub struct Images {
    train: [Arc<[u8]>; 2],
    test: [Arc<[u8]>; 2],
}

#[wasm_bindgen]
impl Images {
    /// Takes the files' bytes; what is in them is looked at when they are trained on.
    #[wasm_bindgen(constructor)]
    pub fn new(train: Vec<u8>, train_labels: Vec<u8>, test: Vec<u8>, test_labels: Vec<u8>) -> Images {
        Images { train: [train.into(), train_labels.into()], test: [test.into(), test_labels.into()] }
    }
}

impl Images {
    /// Readers of the images to train on and of those to test on.
    pub fn readers(&self) -> Result<[Reader; 2]> {
        Ok([reader("train", &self.train)?, reader("t10k", &self.test)?])
    }
}

fn reader(name: &str, [images, labels]: &[Arc<[u8]>; 2]) -> Result<Reader> {
    let [images_name, labels_name] =
        ["images-idx3-ubyte", "labels-idx1-ubyte"].map(|kind| format!("{name}-{kind}"));
    Reader::from_idx(
        Path::new(&images_name),
        Cursor::new(Arc::clone(images)),
        Path::new(&labels_name),
        Cursor::new(Arc::clone(labels)),
        &ReadOptions::default(),
    )
    .map_err(of_library)
}
