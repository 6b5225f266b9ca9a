//! Duplicate keys in a JSON object: parsers keep only one of the values, and not all parsers the same one.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// The first repeated key of an object; `None` if no key is repeated, or if this is not an object.
pub fn repeated_key(object: &[u8]) -> Option<String> {
    serde_json::from_slice::<Repeated>(object).ok().and_then(|Repeated(key)| key)
}

struct Repeated(Option<String>);

impl<'de> Deserialize<'de> for Repeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Repeated;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Repeated, A::Error> {
        let (mut seen, mut repeated) = (BTreeSet::new(), None);
        while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            if seen.contains(&key) {
                repeated.get_or_insert(key);
            } else {
                seen.insert(key);
            }
        }
        Ok(Repeated(repeated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_key_that_stands_twice() {
        let found = |text: &str| repeated_key(text.as_bytes());
        assert_eq!(found(r#"{"a":1,"b":{"a":2},"c":[3]}  "#), None);
        assert_eq!(found(r#"{"a":1,"b":{},"b":[],"a":2}"#).as_deref(), Some("b"));
        // Whatever the spelling of the key.
        assert_eq!(found(r#"{"w1":1,"\u00771":2}"#).as_deref(), Some("w1"));
        assert_eq!(found("[1]").or(found("")).or(found("{")), None);
    }
}
