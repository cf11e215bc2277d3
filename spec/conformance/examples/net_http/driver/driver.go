// Go's net/http under the judge: "stock" is an http.Client as people write it, "onewrite" the same with two settings.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

type object map[string]any

// message has the fields of PROTOCOL.md that this driver reads.
type message struct {
	Seq                            int
	Cmd, Client, Method, URL, Read string
	Headers                        [][2]string
	Timeout                        time.Duration `json:"timeout_ms"`
	Body                           body
	Requests                       []message
	Options                        struct {
		CA        string        `json:"tls_ca"`
		Pool      int           `json:"pool_size"`
		Connect   time.Duration `json:"connect_timeout_ms"`
		KeepAlive *bool
		Proxy     string
	}
}

type body struct {
	Kind, Fill, Text string
	B64              []byte
	Size             int
	Chunks           []int
	Length           bool
	Gap              time.Duration `json:"gap_ms"`
}

var capabilities = strings.Fields("body:bytes body:text body:memory_file body:stream concurrency expect_continue proxy_forward proxy_connect")

var kind string // of the client, from hello
var client http.Client

func (b body) bytes() []byte {
	return append(append(b.B64, b.Text...), strings.Repeat(cmp.Or(b.Fill, "x"), b.Size)...)
}

// reader is what a Go program would pass to http.NewRequest, with the length where net/http cannot find it out.
func (b body) reader() (content io.Reader, length int64) {
	switch b.Kind {
	case "", "none":
		return nil, 0
	case "stream":
		reader, writer := io.Pipe() // each Write is read whole before the next
		for _, size := range b.Chunks {
			length += int64(size)
		}
		go func() {
			defer writer.Close()
			for at, size := range b.Chunks {
				time.Sleep(b.Gap * time.Millisecond * time.Duration(min(at, 1)))
				_, _ = writer.Write(body{Fill: b.Fill, Size: size}.bytes())
			}
		}()
		if b.Length {
			return reader, length
		}
		return reader, -1
	}
	return bytes.NewReader(b.bytes()), 0
}

// open makes a client. With onewrite it has a write buffer of more than 16 KiB, where net/http's own has 4, and full TLS
// records from the first on. TCP_NODELAY is net's default.
func open(m message) object {
	o, trust := m.Options, x509.NewCertPool()
	pem, _ := os.ReadFile(o.CA)
	trust.AppendCertsFromPEM(pem)
	made := &http.Transport{
		TLSClientConfig:    &tls.Config{RootCAs: trust, DynamicRecordSizingDisabled: kind == "onewrite"},
		DisableCompression: true, DisableKeepAlives: o.KeepAlive != nil && !*o.KeepAlive, ExpectContinueTimeout: time.Second,
		MaxConnsPerHost: o.Pool, MaxIdleConnsPerHost: o.Pool, DialContext: (&net.Dialer{Timeout: o.Connect * time.Millisecond}).DialContext,
	}
	if kind == "onewrite" {
		made.WriteBufferSize = 64 << 10
	}
	if proxy, err := url.Parse(o.Proxy); err == nil && o.Proxy != "" {
		made.Proxy = http.ProxyURL(proxy)
	}
	client = http.Client{Transport: made, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return object{"client_id": 1}
}

func request(m message) object {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(m.Timeout*time.Millisecond, time.Hour))
	defer cancel()
	body, length := m.Body.reader()
	req, err := http.NewRequestWithContext(ctx, m.Method, m.URL, body)
	if err != nil {
		return failed(err)
	}
	if length != 0 {
		req.ContentLength = length
	}
	for _, header := range m.Headers {
		req.Header.Add(header[0], header[1])
	}
	started := time.Now()
	response, err := client.Do(req)
	if err != nil {
		return failed(err)
	}
	defer response.Body.Close()
	fields := [][2]string{}
	for name, values := range response.Header {
		fields = append(fields, [2]string{name, strings.Join(values, ", ")})
	}
	if m.Read == "none" {
		return object{"outcome": "response", "status": response.StatusCode, "headers": fields}
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return failed(err)
	}
	return object{"outcome": "response", "status": response.StatusCode, "headers": fields, "body_bytes": len(content),
		"body_sha256": fmt.Sprintf("%x", sha256.Sum256(content)), "elapsed_us": time.Since(started).Microseconds()}
}

func failed(err error) object {
	found, text := "other", err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		found = "timeout"
	case strings.Contains(text, "no such host"):
		found = "dns"
	case strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		found = "tls"
	case strings.Contains(text, ": dial tcp"):
		found = "connect"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		found = "closed"
	}
	return object{"outcome": "error", "error": object{"kind": found, "type": fmt.Sprintf("%T", err), "message": text}}
}

func answer(m message) object {
	switch m.Cmd {
	case "hello":
		if kind = m.Client; kind != "stock" && kind != "onewrite" {
			return object{"skipped": "net/http is driven as stock and as onewrite"}
		}
		return object{"protocol": 2, "client": kind, "adapter": "net/http", "version": "1", "runtime": runtime.Version(),
			"base": object{"name": "net/http", "version": runtime.Version()}, "pid": os.Getpid(), "capabilities": capabilities}
	case "open":
		return open(m)
	case "request":
		return request(m)
	case "batch":
		results := make([]object, len(m.Requests))
		var all sync.WaitGroup
		for i := range m.Requests {
			all.Go(func() { results[i] = request(m.Requests[i]) })
		}
		all.Wait()
		return object{"results": results}
	case "close", "bye":
		client.CloseIdleConnections()
		return object{"ok": true}
	}
	return object{"skipped": "this driver has no " + m.Cmd}
}

func main() {
	lines := json.NewDecoder(os.Stdin)
	for cmd := ""; cmd != "bye"; {
		var m message
		if lines.Decode(&m) != nil { // the end of stdin
			return
		}
		reply := answer(m)
		cmd, reply["seq"] = m.Cmd, m.Seq
		_ = json.NewEncoder(os.Stdout).Encode(reply) // one line, not buffered
	}
}
