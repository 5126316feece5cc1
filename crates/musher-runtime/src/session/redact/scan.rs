//! Looks for secrets in every text of a value as it would be written, without writing it.

use std::fmt;

use serde::ser::{self, Serialize};

/// Whether any text in the value, names of fields included, is one in which a secret was found.
pub(super) fn holds(value: &impl Serialize, found_in: &dyn Fn(&str) -> bool) -> bool {
    value.serialize(Scan(found_in)).is_err()
}

#[derive(Clone, Copy)]
struct Scan<'a>(&'a dyn Fn(&str) -> bool);

/// Something was found, or the value cannot be written; both need a closer look.
#[derive(Debug)]
struct Suspect;

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret was found")
    }
}

impl std::error::Error for Suspect {}

impl ser::Error for Suspect {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Found = Result<(), Suspect>;

/// What holds no text.
macro_rules! no_text {
    ($($name:ident: $of:ty),*) => {
        $(fn $name(self, _: $of) -> Found {
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for Scan<'a> {
    type Ok = ();
    type Error = Suspect;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    no_text!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_bytes: &[u8], serialize_unit_struct: &'static str
    );

    fn serialize_str(self, text: &str) -> Found {
        if (self.0)(text) { Err(Suspect) } else { Ok(()) }
    }

    fn serialize_none(self) -> Found {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Found {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Found {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Found {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Found {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Found {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Suspect> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Suspect> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Suspect> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Suspect> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Suspect> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Suspect> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Suspect> {
        Ok(self)
    }
}

/// Compounds are looked through part by part.
macro_rules! parts {
    ($($compound:ident :: $part:ident ( $($name:ty)? )),*) => {
        $(impl ser::$compound for Scan<'_> {
            type Ok = ();
            type Error = Suspect;

            fn $part<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Found {
                value.serialize(*self)
            }

            fn end(self) -> Found {
                Ok(())
            }
        })*
    };
}

parts!(
    SerializeSeq::serialize_element(),
    SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(),
    SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(&'static str),
    SerializeStructVariant::serialize_field(&'static str)
);

impl ser::SerializeMap for Scan<'_> {
    type Ok = ();
    type Error = Suspect;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Found {
        key.serialize(*self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Found {
        value.serialize(*self)
    }

    fn end(self) -> Found {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_found_in_every_place_that_a_text_can_stand_in() {
        let found_in = |text: &str| text.contains("s3cret");
        for value in [
            json!("a s3cret b"),
            json!(["x", ["s3cret"]]),
            json!({ "a": { "b": "s3cret" } }),
            json!({ "the s3cret name": 1 }),
        ] {
            assert!(holds(&value, &found_in), "{value}");
        }
        assert!(holds(&Some(("x", vec!["s3cret"])), &found_in));
        for value in [json!(null), json!(7), json!({ "a": ["s3", "cret", true] })] {
            assert!(!holds(&value, &found_in), "{value}");
        }
    }
}
