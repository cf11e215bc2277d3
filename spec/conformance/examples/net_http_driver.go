// Go's net/http under the judge: a driver with nothing but the standard library.
//
//	go build -o driver examples/net_http_driver.go
//	python -m onewrite_conformance --driver ./driver --client stock
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

type object map[string]any

type message struct { // what this driver looks at; encoding/json matches names in any case and decodes base64
	Seq                            int
	Cmd, Client, Method, URL, Read string
	Headers                        [][2]string
	Timeout                        time.Duration `json:"timeout_ms"`
	Body                           struct {
		Kind, Text, Fill string
		B64              []byte
		Size             int
	}
	Options struct {
		CA        string `json:"tls_ca"`
		KeepAlive *bool
	}
}

var client *http.Client // the judge has one open at a time

func open(m message) object {
	trust := x509.NewCertPool()
	pem, _ := os.ReadFile(m.Options.CA)
	trust.AppendCertsFromPEM(pem)
	once := m.Options.KeepAlive != nil && !*m.Options.KeepAlive
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, DisableCompression: true, DisableKeepAlives: once}
	client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return object{"client_id": 1}
}

func request(m message) object {
	if m.Timeout == 0 {
		m.Timeout = 60_000
	}
	limit, cancel := context.WithTimeout(context.Background(), m.Timeout*time.Millisecond)
	defer cancel()
	content := append(append(m.Body.B64, m.Body.Text...), bytes.Repeat([]byte((m.Body.Fill + "x")[:1]), m.Body.Size)...)
	req, err := http.NewRequestWithContext(limit, m.Method, m.URL, bytes.NewReader(content))
	if err != nil {
		return failed(err, "invalid_request")
	}
	for _, header := range m.Headers {
		req.Header.Add(header[0], header[1])
	}
	response, err := client.Do(req)
	if err != nil {
		return failed(err, kind(err))
	}
	defer response.Body.Close()
	reply := object{"outcome": "response", "status": response.StatusCode}
	if m.Read != "none" {
		data, err := io.ReadAll(response.Body)
		if err != nil {
			return failed(err, kind(err))
		}
		reply["body_bytes"], reply["body_sha256"] = len(data), fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return reply
}

func failed(err error, kind string) object {
	return object{"outcome": "error", "error": object{"kind": kind, "type": fmt.Sprintf("%T", err), "message": err.Error()}}
}

func kind(err error) string {
	for _, one := range [][2]string{{"net/http: invalid", "invalid_request"}, {"deadline exceeded", "timeout"}, {"no such host", "dns"},
		{"tls: ", "tls"}, {"connection refused", "connect"}, {"connection reset", "reset"}, {"EOF", "closed"}} {
		if strings.Contains(err.Error(), one[0]) {
			return one[1]
		}
	}
	return "other"
}

func answer(m message) object {
	switch m.Cmd {
	case "hello":
		if m.Client != "stock" {
			return object{"skipped": "net/http has only itself"}
		}
		base := object{"name": "net/http", "version": runtime.Version()}
		return object{"protocol": 1, "client": "stock", "adapter": "net/http", "version": "1", "base": base,
			"runtime": runtime.Version(), "pid": os.Getpid(), "capabilities": []string{"body:bytes", "body:text"}}
	case "open":
		return open(m)
	case "request":
		return request(m)
	case "close":
		client.CloseIdleConnections()
		return object{"ok": true}
	case "bye":
		return object{"ok": true}
	}
	return object{"skipped": "this small driver has no " + m.Cmd}
}

func main() {
	for lines := json.NewDecoder(os.Stdin); ; {
		var m message
		if lines.Decode(&m) != nil { // the end of stdin
			return
		}
		reply := answer(m)
		reply["seq"] = m.Seq
		_ = json.NewEncoder(os.Stdout).Encode(reply) // one line, not buffered
		if m.Cmd == "bye" {
			return
		}
	}
}
