//! Enumerations whose values have names.

/// Declares an enumeration with what each of its values is called, which `as_str` says. Attributes and derives beyond
/// the usual stand with it. One that a column holds, or whose names are those in JSON, is rather one of the
/// [`codes`](crate::codes).
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $name:ident { $($(#[$means:meta])* $value:ident = $text:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name { $($(#[$means])* $value),* }

        impl $name {
            /// What it is called.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text),* }
            }
        }
    };
}
