//! Enums with names.

/// Defines the names of an enum, for options and in files.
macro_rules! named {
    ($name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        impl $name {
            /// All variants.
            pub const ALL: [$name; [$($name::$variant),+].len()] = [$($name::$variant),+];

            /// Returns the name, of the option and in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
        crate::named::by_name!($name);
    };
}

/// Implements parsing and formatting by name for an enum that has `ALL` and `name`, also for the command
/// line.
macro_rules! by_name {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::error::Error;

            fn from_str(text: &str) -> crate::error::Result<Self> {
                let found = Self::ALL.iter().find(|variant| variant.name() == text);
                found.copied().ok_or_else(|| {
                    let names = crate::named::one_of(Self::ALL.iter().map(|variant| variant.name()));
                    crate::error::Error::Config(format!("expected {names}, found {text:?}"))
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'a> serde::Deserialize<'a> for $name {
            fn deserialize<D: serde::Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "cli")]
        impl clap::ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                &Self::ALL
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                Some(self.name().into())
            }
        }
    };
}

/// Joins names: `a, b or c`.
pub(crate) fn one_of(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

pub(crate) use {by_name, named};
