//! The proxy as most programs speak to it: tunnels by CONNECT, and plain requests by their whole address.

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use musher_sandbox::Destination;
use tokio::net::UnixStream;

use super::{NotConnected, Proxy, ProxyPlace, REQUEST_TIMEOUT, Reached, Upstream, Wanted};

/// Headers that are for the proxy and not for the host.
const FOR_US: &[&str] = &["proxy-authorization", "proxy-connection", "keep-alive", "te", "trailer"];
/// Where a refusal says why, for programs that show it.
const REASON: HeaderName = HeaderName::from_static("x-proxy-error");

type Body = BoxBody<Bytes, hyper::Error>;

pub(super) async fn serve(
    stream: UnixStream,
    proxy: &Proxy,
    place: &ProxyPlace,
) -> std::io::Result<()> {
    let answer = service_fn(|request| async move {
        Ok::<_, hyper::Error>(match request.method() {
            &Method::CONNECT => tunnel(request, proxy, place.clone()).await,
            _ => pass_on(request, proxy).await,
        })
    });
    hyper::server::conn::http1::Builder::new()
        .preserve_header_case(true)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades()
        .await
        .map_err(std::io::Error::other)
}

/// Connects a client with a host. What they say to each other is theirs.
async fn tunnel(request: Request<Incoming>, proxy: &Proxy, place: ProxyPlace) -> Response<Body> {
    let target = request.uri().authority().map(|to| (to.host().to_owned(), to.port_u16()));
    let Some((host, Some(port))) = target else {
        return refused(StatusCode::BAD_REQUEST, "CONNECT names no host with a port");
    };
    let mut far = match proxy.connect(&host, port, Wanted::Tunnel).await {
        Ok(reached) => reached.stream,
        Err(why) => return not_connected(&why),
    };
    proxy.0.tasks.spawn(async move {
        let carried = async {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                let mut near = TokioIo::new(upgraded);
                // Either may leave in the middle.
                let _left = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
        };
        place.over.until_closed(carried).await;
    });
    Response::new(empty())
}

/// Passes a plain request on to its host.
async fn pass_on(mut request: Request<Incoming>, proxy: &Proxy) -> Response<Body> {
    let uri = request.uri().clone();
    let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
        return refused(StatusCode::BAD_REQUEST, "this is a proxy: name the whole address");
    };
    let port = uri.port_u16().unwrap_or(80);
    let reached = match proxy.connect(host, port, Wanted::Request).await {
        Ok(reached) => reached,
        Err(why) => return not_connected(&why),
    };
    let Reached { stream: far, upstream, to } = reached;
    for name in FOR_US {
        request.headers_mut().remove(*name);
    }
    // What is passed on is made from what was checked, and not from what the client wrote.
    let place = uri.path_and_query().map_or("/", |place| place.as_str());
    let host_named = authority(&to);
    let place = match &upstream {
        // The proxy of this machine gets the whole address, as we did.
        Some(_) => format!("http://{host_named}{place}"),
        None => place.to_owned(),
    };
    let (Ok(place), Ok(host_named)) = (place.parse::<Uri>(), HeaderValue::from_str(&host_named))
    else {
        return refused(StatusCode::BAD_REQUEST, "the address cannot be read");
    };
    *request.uri_mut() = place;
    request.headers_mut().insert(hyper::header::HOST, host_named);
    if let Some(Upstream { login: Some(login), .. }) = &upstream {
        request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
    }
    request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    let unreachable = |why: hyper::Error| {
        refused(StatusCode::BAD_GATEWAY, &format!("{host} did not answer: {why}"))
    };
    let (mut sender, connection) =
        match hyper::client::conn::http1::handshake::<_, Incoming>(TokioIo::new(far)).await {
            Ok(open) => open,
            Err(why) => return unreachable(why),
        };
    proxy.0.tasks.spawn(async move {
        // Its failure is the failure of the request.
        let _told = connection.await;
    });
    match sender.send_request(request).await {
        Ok(response) => match upstream.as_ref().map(|proxy| proxy.admits(response.status())) {
            Some(Err(why)) => refused(
                StatusCode::BAD_GATEWAY,
                &format!("{host} cannot be reached through the proxy of this machine: {why}"),
            ),
            Some(Ok(())) | None => response.map(|body| body.boxed()),
        },
        Err(why) => unreachable(why),
    }
}

/// A host as plain requests name it: without the usual port.
fn authority(to: &Destination) -> String {
    let whole = to.to_string();
    whole.strip_suffix(":80").map_or_else(|| whole.clone(), ToOwned::to_owned)
}

fn not_connected(why: &NotConnected) -> Response<Body> {
    let status = match why {
        NotConnected::Bad(_) => StatusCode::BAD_REQUEST,
        NotConnected::Refused(_) | NotConnected::Asked(_) | NotConnected::Inward(_) => {
            StatusCode::FORBIDDEN
        }
        NotConnected::Unreachable(..) | NotConnected::Upstream(..) => StatusCode::BAD_GATEWAY,
    };
    refused(status, &why.to_string())
}

fn refused(status: StatusCode, why: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(format!("musher: {why}\n")));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    if let Ok(why) = HeaderValue::from_str(why) {
        response.headers_mut().insert(REASON, why);
    }
    response
}

fn empty() -> Body {
    Full::new(Bytes::new()).map_err(|never| match never {}).boxed()
}
