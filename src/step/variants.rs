//! A list of variants, each of which has a file of its own.

/// Declares an enum whose variants are implemented by the `PIECE` of a module each: `Variant = module`. One line here and
/// the module's two pieces, Rust and WGSL, are all that a variant needs.
macro_rules! variants {
    ($(#[$enum_doc:meta])* $name:ident: $interface:ident { $($(#[$doc:meta])* $variant:ident = $module:ident),+ $(,)? }) => {
        $(mod $module;)+

        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            fn piece(self) -> &'static $interface {
                match self {
                    $($name::$variant => &$module::PIECE,)+
                }
            }

            /// Its name: of the option, and in files.
            pub fn name(self) -> &'static str {
                self.piece().name
            }

            /// Its piece of WGSL.
            pub fn shader(self) -> &'static str {
                self.piece().shader
            }

            /// All names, for messages: `a, b or c`.
            pub fn names() -> String {
                crate::step::variants::one_of(Self::ALL.iter().map(|variant| variant.name()))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// `a, b or c`.
pub(super) fn one_of(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Implements [`FromStr`](std::str::FromStr) by name; an error names the setting.
macro_rules! parse_by_name {
    ($name:ident, $setting:literal) => {
        impl std::str::FromStr for $name {
            type Err = crate::error::Error;

            fn from_str(text: &str) -> crate::error::Result<Self> {
                let found = Self::ALL.iter().find(|variant| variant.name() == text);
                found.copied().ok_or_else(|| crate::error::Error::Setting {
                    setting: $setting,
                    expected: Self::names(),
                    found: format!("{text:?}"),
                })
            }
        }
    };
}

pub(super) use {parse_by_name, variants};
