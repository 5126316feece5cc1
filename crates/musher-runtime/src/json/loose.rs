//! Fields that may be of any shape: what is not as expected is as good as missing, and does not spoil the rest.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a field is expected to be. It is read once, whatever stands there.
pub(crate) trait Loose<'de>: Default {
    fn flag(_: bool) -> Self {
        Self::default()
    }

    fn count(_: u64) -> Self {
        Self::default()
    }

    fn number(_: f64) -> Self {
        Self::default()
    }

    fn text(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn nothing() -> Self {
        Self::default()
    }

    fn list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| Self::default())
    }

    fn object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        IgnoredAny.visit_map(object).map(|_| Self::default())
    }
}

impl Loose<'_> for bool {
    fn flag(flag: bool) -> Self {
        flag
    }
}

/// A count, however it is written.
impl Loose<'_> for u64 {
    fn count(count: u64) -> Self {
        count
    }

    fn number(number: f64) -> Self {
        number as Self
    }
}

/// A count that may be absent; a figure that is none says nothing.
impl Loose<'_> for Option<u64> {
    fn count(count: u64) -> Self {
        Some(count)
    }

    fn number(number: f64) -> Self {
        (number.is_finite() && number >= 0.0).then_some(number as u64)
    }
}

impl Loose<'_> for Option<f64> {
    fn count(count: u64) -> Self {
        Some(count as f64)
    }

    fn number(number: f64) -> Self {
        Some(number)
    }
}

impl Loose<'_> for Option<String> {
    fn text(text: Cow<'_, str>) -> Self {
        Some(text.into_owned())
    }
}

impl<'de> Loose<'de> for Cow<'de, str> {
    fn text(text: Cow<'de, str>) -> Self {
        text
    }
}

/// Reads a field that may be of any shape.
pub(crate) fn loose<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Loose<'de>,
{
    deserializer.deserialize_any(LooseSeed(PhantomData))
}

/// The next of a list of things that may each be of any shape.
pub(crate) fn next_loose<'de, A, T>(list: &mut A) -> Result<Option<T>, A::Error>
where
    A: SeqAccess<'de>,
    T: Loose<'de>,
{
    list.next_element_seed(LooseSeed(PhantomData))
}

struct LooseSeed<T>(PhantomData<T>);

impl<'de, T: Loose<'de>> DeserializeSeed<'de> for LooseSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Loose<'de>> Visitor<'de> for LooseSeed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<T, E> {
        Ok(T::count(count))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::nothing())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::object(object)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::super::read;
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Odd<'a> {
        #[serde(deserialize_with = "loose")]
        flag: bool,
        #[serde(deserialize_with = "loose")]
        count: u64,
        #[serde(deserialize_with = "loose")]
        cost: Option<f64>,
        #[serde(deserialize_with = "loose", borrow)]
        text: Cow<'a, str>,
        #[serde(deserialize_with = "loose")]
        last: Option<String>,
    }

    #[test]
    fn a_field_of_another_shape_is_missing_and_the_others_are_there() {
        for value in ["null", "[1,{}]", r#"{"a":[null]}"#] {
            let text = format!(
                r#"{{"flag":{value},"count":{value},"cost":{value},"text":{value},"last":"x"}}"#
            );
            let odd: Odd<'_> = read(&text).unwrap();
            assert_eq!(odd, Odd { last: Some("x".to_owned()), ..Odd::default() }, "{value}");
        }
        let odd: Odd<'_> =
            read(r#"{"flag":"yes","count":"1","cost":true,"text":7,"last":1.5}"#).unwrap();
        assert_eq!(odd, Odd::default());
    }

    #[test]
    fn a_field_of_the_expected_shape_is_read_however_it_is_written() {
        let odd: Odd<'_> =
            read(r#"{"flag":true,"count":7.0,"cost":3,"text":"a\u00e9b","last":"c\n"}"#).unwrap();
        let last = Some("c\n".to_owned());
        let text = Cow::Borrowed("aéb");
        assert_eq!(odd, Odd { flag: true, count: 7, cost: Some(3.0), text, last });
    }
}
