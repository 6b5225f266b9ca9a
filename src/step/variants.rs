//! A list of variants, one a file.

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
        }

        crate::named::by_name!($name);
    };
}

pub(super) use variants;
