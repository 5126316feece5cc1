//! A server that few file handles were left to, beside a crowd that only connects.

use std::time::Duration;

use musher::runner::launch;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::rig::Project;

#[tokio::test]
async fn a_crowd_without_a_token_leaves_file_handles_for_starts() {
    launch::open_many_files();
    let project = Project::of_workers();
    let server = project.serve_after("ulimit -n 256").await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut crowd = Vec::new();
    for number in 0..1_000 {
        // A server that takes no more lets the rest wait; whoever cannot even do that has lost nothing.
        let connect = tokio::time::timeout(Duration::from_secs(10), TcpStream::connect(address));
        let Ok(Ok(mut stream)) = connect.await else { break };
        if number % 2 == 0 {
            let _gone = stream.write_all(b"GET / HTTP/1.1\r\nhost:").await;
        }
        crowd.push(stream);
    }
    assert!(crowd.len() > 256, "{}", crowd.len());
    let handles = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(handles < 200, "{handles} of 256 handles are in use");
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(server.begin("[[work lines=2 write=a.txt]]").await.1);
    }
    for run in runs {
        let over = server.until_over(&run).await;
        assert_eq!(over["outcome"], "completed", "{over:#}");
    }
    drop(crowd);
}
