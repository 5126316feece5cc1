//! The images of a request, as each wire format carries them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// An image that a model was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Finds every image below a value. Objects keep the order of their names, and lists that of their entries.
pub(super) fn gather(value: &Value, found: &mut Vec<Image>) {
    match value {
        Value::Object(fields) => {
            found.extend(of_object(value));
            fields.values().for_each(|field| gather(field, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| gather(entry, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The image that an object is. One whose base64 cannot be read has no bytes.
fn of_object(value: &Value) -> Option<Image> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (media_type, data) = match value["type"].as_str() {
        Some("image") => (text(&value["source"]["media_type"])?, text(&value["source"]["data"])?),
        Some("input_image") => of_url(value["image_url"].as_str()?)?,
        Some("image_url") => of_url(value["image_url"]["url"].as_str()?)?,
        Some(_) | None => {
            let inline = &value["inlineData"];
            (text(&inline["mimeType"])?, text(&inline["data"])?)
        }
    };
    Some(Image { media_type, bytes: STANDARD.decode(data).unwrap_or_default() })
}

fn of_url(url: &str) -> Option<(String, String)> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((media_type.to_owned(), data.to_owned()))
}
