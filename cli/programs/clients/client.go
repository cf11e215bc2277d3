// 20 POSTs by net/http. usage: client.go string|reader|large|buffered|nagle URL
package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	way, size := os.Args[1], 200
	transport := http.DefaultTransport.(*http.Transport).Clone()
	switch way {
	case "large":
		size = 9000
	case "buffered":
		size, transport.WriteBufferSize = 9000, 16<<10
	case "nagle":
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			made, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				made.(*net.TCPConn).SetNoDelay(false)
			}
			return made, err
		}
	}
	client := &http.Client{Transport: transport}
	for turn := 0; turn < 20; turn++ {
		var body io.Reader = strings.NewReader(strings.Repeat("x", size))
		if way == "reader" || way == "nagle" {
			body = io.MultiReader(body) // of unknown length
		}
		answer, err := client.Post(os.Args[2], "text/plain", body)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
