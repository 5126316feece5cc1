//! A client for the scripted model that is nothing but a socket.

use musher_testkit::model::ModelServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: String,
    path: String,
    headers: Vec<(&'static str, String)>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) whole: bool,
    /// How many reads ended inside a character.
    pub(crate) split_characters: usize,
    head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn prompt(text: &str) -> Value {
    request(&[json!({"role": "user", "content": text})])
}

pub(crate) fn request(messages: &[Value]) -> Value {
    let tools = json!([{"name": "Bash", "input_schema": {"type": "object"}}]);
    json!({"model": "claude-test", "max_tokens": 100, "stream": true, "tools": tools, "messages": messages})
}

/// Appends a tool call of the model and its result.
pub(crate) fn add_result(body: &mut Value, call: &Value) {
    let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"});
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [call]}));
    messages.push(json!({"role": "user", "content": [result]}));
}

impl Client {
    pub(crate) fn of(server: &ModelServer) -> Self {
        let headers = [("x-api-key", "dummy"), ("anthropic-version", "2023-06-01")];
        Self::to(server, "/v1/messages", &headers)
    }

    pub(crate) fn to(server: &ModelServer, path: &str, headers: &[(&'static str, &str)]) -> Self {
        Self {
            address: server.url().strip_prefix("http://").unwrap().to_owned(),
            path: path.to_owned(),
            headers: headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        }
    }

    pub(crate) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut client = self.without(name);
        client.headers.push((name, value.to_owned()));
        client
    }

    pub(crate) fn without(&self, header: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(name, _)| *name != header);
        client
    }

    pub(crate) async fn post(&self, body: &Value) -> Answer {
        self.send("POST", &self.path, &body.to_string()).await
    }

    /// Sends a request and reads no more than its first bytes.
    pub(crate) async fn begin(&self, body: &Value) -> TcpStream {
        let mut stream = self.write("POST", &self.path, &body.to_string()).await;
        stream.read_exact(&mut [0; 64]).await.unwrap();
        stream
    }

    /// Sends a request and tells whether the connection ended without one byte of an answer.
    pub(crate) async fn silent(&self, body: &str) -> bool {
        let mut stream = self.write("POST", &self.path, body).await;
        !matches!(stream.read(&mut [0; 64]).await, Ok(1..))
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = self.write(method, path, body).await;
        let (mut all, mut split_characters) = (Vec::new(), 0);
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            all.extend_from_slice(&buffer[..count]);
            // The chunk frame around each byte is ASCII, so the byte before it tells whether a character is open.
            let open = std::str::from_utf8(&unchunk(&all).0)
                .is_err_and(|error| error.error_len().is_none());
            split_characters += usize::from(open);
        }
        let (head, (body, whole)) = (head(&all), unchunk(&all));
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            whole,
            split_characters,
            head,
            body,
        }
    }

    async fn write(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let body = std::str::from_utf8(&self.body).unwrap();
        let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    pub(crate) fn text(&self) -> String {
        self.deltas("text").concat()
    }

    pub(crate) fn tool_call(&self) -> Value {
        let events = self.events();
        let blocks = events.iter().map(|event| &event["content_block"]);
        let mut call =
            blocks.into_iter().find(|block| block["type"] == "tool_use").unwrap().clone();
        call["input"] = serde_json::from_str(&self.deltas("partial_json").concat()).unwrap();
        call
    }

    fn deltas(&self, key: &str) -> Vec<String> {
        let events = self.events();
        let deltas = events.iter().filter_map(|event| event["delta"][key].as_str());
        deltas.map(str::to_owned).collect()
    }
}

fn head(all: &[u8]) -> String {
    String::from_utf8_lossy(&all[..head_end(all)]).into_owned()
}

fn head_end(all: &[u8]) -> usize {
    all.windows(4).position(|part| part == b"\r\n\r\n").map_or(all.len(), |at| at + 4)
}

/// The body without its chunk frames, and whether it ended as it should.
fn unchunk(all: &[u8]) -> (Vec<u8>, bool) {
    let mut rest = &all[head_end(all)..];
    if !head(all).contains("transfer-encoding: chunked") {
        return (rest.to_vec(), true);
    }
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|part| part == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let data = &rest[line + 2..];
        if data.len() < size + 2 {
            body.extend_from_slice(&data[..size.min(data.len())]);
            break;
        }
        body.extend_from_slice(&data[..size]);
        rest = &data[size + 2..];
    }
    (body, false)
}
