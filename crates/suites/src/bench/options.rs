//! Options of suites: declared once, with key, default and help.

use drivelab_core::Invalid;
use drivelab_core::config::Value;

/// An option of a suite: its key, help and default.
#[derive(Debug, Clone, Copy)]
pub struct SuiteOption {
    /// Its key.
    pub key: &'static str,
    /// One sentence, for people.
    pub help: &'static str,
    /// The value where it is not given.
    pub default: &'static str,
}

/// A value that the suite chooses where `auto` is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Auto<T>(pub(crate) Option<T>);

impl<T: Value> Value for Auto<T> {
    fn read(text: &str) -> Result<Self, Invalid> {
        // Resolved when the machine is known.
        if text == "auto" { Ok(Self(None)) } else { T::read(text).map(|value| Self(Some(value))) }
    }
}

/// Declares the options of a suite: a struct of them, and the table of what is known of each.
macro_rules! suite_options {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $($(#[doc = $help:literal])+ $key:ident: $type:ty = $default:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $name {
            $($(#[doc = $help])+ pub(crate) $key: $type,)+
        }

        impl $name {
            /// Every option, in the order of the help.
            pub(crate) const OPTIONS: &'static [$crate::bench::SuiteOption] =
                &[$($crate::bench::SuiteOption {
                    key: stringify!($key),
                    help: concat!($($help),+),
                    default: $default,
                }),+];

            /// Sets the option called `key`; whether there is one.
            pub(crate) fn set_option(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
                match key {
                    $(stringify!($key) => {
                        self.$key = drivelab_core::config::Value::read(text)?;
                    })+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($key: drivelab_core::config::Value::read($default)
                        .expect("a default is a value of its option"),)+
                }
            }
        }
    };
}

pub(crate) use suite_options;
