package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

type clientOfCase struct{ http.Client }

// open makes a client, or returns what this driver cannot do.
func open(o options, onewrite bool) (*clientOfCase, string) {
	if o.Socket != nil || o.Connector || o.Pool != 0 || o.Retries != 0 || (o.Hooks != "" && o.Hooks != "none") {
		return nil, "this small driver has no socket options, connectors, pool limits, retries and hooks"
	}
	made := &clientOfCase{http.Client{Transport: transport(o, onewrite)}}
	if !o.Redirects {
		made.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return made, ""
}

func (c *clientOfCase) request(m message) object {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if m.Timeout != 0 {
		ctx, cancel = context.WithTimeout(ctx, m.Timeout*time.Millisecond)
		defer cancel()
	}
	if m.Cancel != 0 {
		timer := time.AfterFunc(m.Cancel*time.Millisecond, cancel)
		defer timer.Stop()
	}
	content, length, contentType, err := m.Body.reader()
	if err != nil {
		return object{"skipped": err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, m.Method, m.URL, content)
	if err != nil {
		return failed(err, "other")
	}
	if length >= 0 {
		req.ContentLength = length
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for _, header := range m.Headers {
		if strings.EqualFold(header[0], "Host") {
			req.Host = header[1] // net/http ignores it among the headers
		}
		req.Header.Add(header[0], header[1])
	}
	started := time.Now()
	response, err := c.Do(req)
	if err != nil {
		return failed(err, kindOf(err))
	}
	defer response.Body.Close()
	reply := object{"outcome": "response", "status": response.StatusCode, "headers": pairs(response.Header)}
	if m.Read != "none" {
		hash := sha256.New()
		size, err := io.Copy(hash, response.Body)
		if err != nil {
			return failed(err, kindOf(err))
		}
		reply["body_bytes"], reply["body_sha256"] = size, fmt.Sprintf("%x", hash.Sum(nil))
	}
	reply["elapsed_us"] = time.Since(started).Microseconds()
	return reply
}

func pairs(header http.Header) [][2]string {
	found := [][2]string{}
	for name, values := range header {
		for _, value := range values {
			found = append(found, [2]string{name, value})
		}
	}
	return found
}

func failed(err error, kind string) object {
	if kind == "cancelled" {
		return object{"outcome": "cancelled"}
	}
	return object{"outcome": "error", "error": object{"kind": kind, "type": fmt.Sprintf("%T", err), "message": err.Error()}}
}

// kindOf names an error in the words of events.yaml: by type; by message where net/http has no type.
func kindOf(err error) string {
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		timeout     net.Error
		operation   *net.OpError
		refused     refusedTunnel
	)
	switch text := err.Error(); {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert), strings.Contains(text, "tls: "):
		return "tls"
	case errors.As(err, &refused), errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &operation) && operation.Op == "dial":
		return "connect"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE),
		strings.Contains(text, "server closed idle connection"):
		return "closed"
	case strings.Contains(text, "malformed"), strings.Contains(text, "HTTP/1.x transport connection broken"),
		strings.Contains(text, "bad Content-Length"), strings.Contains(text, "chunked"), strings.Contains(text, "chunk"):
		return "protocol"
	case strings.Contains(text, "net/http: invalid"), strings.Contains(text, "ContentLength="), strings.Contains(text, "unsupported protocol scheme"):
		return "other"
	}
	return "other"
}
