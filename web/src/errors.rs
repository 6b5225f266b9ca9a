//! Errors as JavaScript throws them.

use tinytrain::Error;
use wasm_bindgen::JsValue;

/// What a call gives: an error is thrown.
pub type Result<T> = std::result::Result<T, JsValue>;

/// An error of JavaScript with this line.
pub fn thrown(text: &str) -> JsValue {
    js_sys::Error::new(text).into()
}

/// The line of an error of the library, with what to do about it. A page has no command line: settings have their bare names.
pub fn text_of(error: &Error) -> String {
    let remedy = error.remedy().map(|remedy| format!("; {}", remedy.replace("--", "")));
    format!("{error}{}", remedy.unwrap_or_default())
}

/// An error of the library.
pub fn of_library(error: Error) -> JsValue {
    thrown(&text_of(&error))
}
