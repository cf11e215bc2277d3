package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// options has the options of open that this driver serves.
type options struct {
	CA        string `json:"tls_ca"`
	KeepAlive *bool
	PoolSize  int `json:"pool_size"`
	Proxy     string
	Redirects bool
	Connect   time.Duration `json:"connect_timeout_ms"`
	Pool      time.Duration `json:"pool_timeout_ms"`
	Socket    []any         `json:"socket_options"`
	Connector bool          `json:"custom_connector"`
	Hooks     string
	Retries   int
}

// writeBuffer holds a head and a body of 16 KiB, the most that one TLS record carries, in one write.
const writeBuffer = 64 << 10

// transport is http.Transport as people configure it. With onewrite it differs in three settings:
//   - WriteBufferSize: net/http writes through a buffer of 4 KiB (net/http/transport.go), so that a larger request is
//     several writes.
//   - DynamicRecordSizingDisabled: crypto/tls begins a connection with records of one segment (crypto/tls/conn.go).
//   - SetNoDelay: net sets TCP_NODELAY on each connection it dials (net/tcpsock.go); it is said here since the contract
//     wants it on whatever a later Go does.
func transport(o options, onewrite bool) *http.Transport {
	trust := x509.NewCertPool()
	if pem, err := os.ReadFile(o.CA); err == nil {
		trust.AppendCertsFromPEM(pem)
	}
	config := &tls.Config{RootCAs: trust, DynamicRecordSizingDisabled: onewrite}
	dialer := &net.Dialer{Timeout: o.Connect * time.Millisecond}
	made := &http.Transport{
		TLSClientConfig: config, DisableCompression: true, MaxConnsPerHost: o.PoolSize, MaxIdleConnsPerHost: o.PoolSize,
		DisableKeepAlives: o.KeepAlive != nil && !*o.KeepAlive, ExpectContinueTimeout: time.Second, DialContext: dialer.DialContext,
	}
	if onewrite {
		made.WriteBufferSize = writeBuffer
		made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := connection.(*net.TCPConn); ok {
				err = tcp.SetNoDelay(true)
			}
			return connection, err
		}
	}
	// Of a tunnel that is refused net/http reports the status text alone.
	made.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
		if answer.StatusCode != http.StatusOK {
			return refusedTunnel{answer.Status}
		}
		return nil
	}
	if o.Proxy != "" {
		if proxy, err := url.Parse(o.Proxy); err == nil {
			made.Proxy = http.ProxyURL(proxy)
		}
	}
	return made
}

type refusedTunnel struct{ status string }

func (e refusedTunnel) Error() string { return "the proxy refuses a tunnel: " + e.status }
