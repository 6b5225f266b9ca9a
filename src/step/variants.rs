//! Lists of variants with one file each.

/// Declares an enum whose variants are each implemented by the `PIECE` of a module: `Variant = module`. A new
/// variant needs only one line here and the module's two pieces, Rust and WGSL.
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
            /// All variants.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            fn piece(self) -> &'static $interface {
                match self {
                    $($name::$variant => &$module::PIECE,)+
                }
            }

            /// Returns the variant's name in options and files.
            pub fn name(self) -> &'static str {
                self.piece().name
            }

            /// Returns the variant's piece of WGSL.
            pub fn shader(self) -> &'static str {
                self.piece().shader
            }
        }

        crate::named::by_name!($name);
    };
}

pub(super) use variants;
