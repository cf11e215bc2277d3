// 20 POSTs by ureq. usage: client string|reader URL
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let body = "x".repeat(200);
    let agent = ureq::Agent::new();
    for _ in 0..20 {
        let request = agent.post(&arguments[2]);
        let answer = if arguments[1] == "reader" { request.send(body.as_bytes()) } else { request.send_string(&body) };
        answer.unwrap().into_string().unwrap();
    }
}
