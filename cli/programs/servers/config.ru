run ->(_env) { [200, { "content-type" => "text/plain", "content-length" => "200" }, ["x" * 200]] }
