// Go's net/http under the judge: a driver with nothing but the standard library.
//
// The client kind "stock" is an http.Client as people write it. "onewrite" is the same with three settings.
package main

import (
	"bytes"
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
	Cancel                         time.Duration `json:"cancel_after_ms"`
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
	Fields           [][2]string
	Chunks           []int
	Length           bool
	Gap              time.Duration `json:"gap_ms"`
}

var capabilities = strings.Fields("body:bytes body:text body:memory_file body:form body:stream " +
	"cancel cancel_connect concurrency expect_continue proxy_forward proxy_connect")

var (
	kind   string // of the client, from hello
	client http.Client
)

func (b body) bytes() []byte {
	if b.Fill == "" {
		b.Fill = "x"
	}
	return append(append(b.B64, b.Text...), strings.Repeat(b.Fill, b.Size)...)
}

// reader is what a Go program would pass to http.NewRequest, with the length where net/http cannot find it out.
func (b body) reader() (content io.Reader, length int64, contentType string) {
	switch b.Kind {
	case "", "none":
		return nil, 0, ""
	case "text":
		return strings.NewReader(string(b.bytes())), 0, ""
	case "form":
		var pairs []string
		for _, pair := range b.Fields {
			pairs = append(pairs, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
		}
		return strings.NewReader(strings.Join(pairs, "&")), 0, "application/x-www-form-urlencoded"
	case "stream":
		reader, writer := io.Pipe() // each Write is read whole before the next
		for _, size := range b.Chunks {
			length += int64(size)
		}
		if !b.Length {
			length = -1
		}
		go func() {
			for at, size := range b.Chunks {
				if at > 0 {
					time.Sleep(b.Gap * time.Millisecond)
				}
				_, _ = writer.Write(body{Fill: b.Fill, Size: size}.bytes())
			}
			_ = writer.Close()
		}()
		return reader, length, ""
	}
	return bytes.NewReader(b.bytes()), 0, ""
}

// open makes a client. With onewrite it has a write buffer of more than 16 KiB, as net/http's own has 4; full TLS records
// from the first on; and TCP_NODELAY, which net sets today, whatever a later Go does.
func open(m message) object {
	o, dialer, trust := m.Options, &net.Dialer{Timeout: m.Options.Connect * time.Millisecond}, x509.NewCertPool()
	if pem, err := os.ReadFile(o.CA); err == nil {
		trust.AppendCertsFromPEM(pem)
	}
	made := &http.Transport{
		TLSClientConfig:    &tls.Config{RootCAs: trust, DynamicRecordSizingDisabled: kind == "onewrite"},
		DisableCompression: true, DisableKeepAlives: o.KeepAlive != nil && !*o.KeepAlive, ExpectContinueTimeout: time.Second,
		MaxConnsPerHost: o.Pool, MaxIdleConnsPerHost: o.Pool, DialContext: dialer.DialContext,
	}
	if kind == "onewrite" {
		made.WriteBufferSize = 64 << 10
		made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				err = connection.(*net.TCPConn).SetNoDelay(true)
			}
			return connection, err
		}
	}
	if proxy, err := url.Parse(o.Proxy); err == nil && o.Proxy != "" {
		made.Proxy = http.ProxyURL(proxy)
	}
	client = http.Client{Transport: made, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return object{"client_id": 1}
}

func request(m message) object {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if m.Timeout != 0 {
		ctx, cancel = context.WithTimeout(ctx, m.Timeout*time.Millisecond)
		defer cancel()
	}
	if m.Cancel != 0 {
		time.AfterFunc(m.Cancel*time.Millisecond, cancel)
	}
	content, length, contentType := m.Body.reader()
	req, err := http.NewRequestWithContext(ctx, m.Method, m.URL, content)
	if err != nil {
		return failed(err)
	}
	if length != 0 {
		req.ContentLength = length
	}
	if contentType != "" {
		m.Headers = append(m.Headers, [2]string{"Content-Type", contentType})
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
	hash, size := sha256.New(), int64(0)
	if m.Read != "none" {
		if size, err = io.Copy(hash, response.Body); err != nil {
			return failed(err)
		}
	}
	return object{"outcome": "response", "status": response.StatusCode, "headers": fields, "body_bytes": size,
		"body_sha256": fmt.Sprintf("%x", hash.Sum(nil)), "elapsed_us": time.Since(started).Microseconds()}
}

func failed(err error) object {
	var dns *net.DNSError
	var operation *net.OpError
	found := "other"
	switch text := err.Error(); {
	case errors.Is(err, context.Canceled):
		return object{"outcome": "cancelled"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		found = "timeout"
	case errors.As(err, &dns):
		found = "dns"
	case strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		found = "tls"
	case errors.As(err, &operation) && operation.Op == "dial":
		found = "connect"
	case errors.Is(err, syscall.ECONNRESET):
		found = "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		found = "closed"
	case strings.Contains(text, "malformed"):
		found = "protocol"
	}
	return object{"outcome": "error", "error": object{"kind": found, "type": fmt.Sprintf("%T", err), "message": err.Error()}}
}

func answer(m message) object {
	switch m.Cmd {
	case "hello":
		if kind = m.Client; kind != "stock" && kind != "onewrite" {
			return object{"skipped": "net/http is driven as stock and as onewrite"}
		}
		return object{"protocol": 1, "client": kind, "adapter": "net/http", "version": "1", "runtime": runtime.Version(),
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
	case "close":
		client.CloseIdleConnections()
		return object{"ok": true}
	case "bye":
		return object{"ok": true}
	}
	return object{"skipped": "this driver has no " + m.Cmd}
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
