//! Enumerations with display names.

/// Declares an enumeration with a display name for each value, returned by `as_str`. Additional attributes and derives
/// are allowed. Use [`codes`](crate::codes) instead if a column contains the type or its names are used in JSON.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $name:ident { $($(#[$means:meta])* $value:ident = $text:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name { $($(#[$means])* $value),* }

        impl $name {
            /// Returns the display name.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text),* }
            }
        }
    };
}
