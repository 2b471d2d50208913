//! Enums that the database keeps as words.

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every one there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = base::Error;

            fn from_str(text: &str) -> base::Result<Self> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(base::Error::internal(format!("`{text}` is no {}", stringify!($name)))),
                }
            }
        }
    };
}

pub(crate) use words;
