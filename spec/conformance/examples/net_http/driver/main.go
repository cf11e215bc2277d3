// Go's net/http under the judge: a driver with nothing but the standard library.
//
// The client kind "stock" is an http.Client as people write it. "onewrite" is the same with the three settings of
// transport.go.
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

type object map[string]any

// message has the fields of PROTOCOL.md that this driver reads. encoding/json matches names in any case.
type message struct {
	Seq                      int
	Cmd, Client, Method, URL string
	Read                     string
	Headers                  [][2]string
	Timeout                  time.Duration `json:"timeout_ms"`
	Cancel                   time.Duration `json:"cancel_after_ms"`
	Body                     *body
	Requests                 []message
	Options                  options
}

var capabilities = []string{
	"body:bytes", "body:text", "body:memory_file", "body:form", "body:multipart", "body:stream",
	"cancel", "cancel_connect", "concurrency", "total_timeout", "proxy_forward", "proxy_connect", "redirects",
}

var (
	kind   string        // of the client, from hello
	client *clientOfCase // the judge has one open at a time
)

func answer(m message) object {
	switch m.Cmd {
	case "hello":
		if m.Client != "stock" && m.Client != "onewrite" {
			return object{"skipped": "net/http is driven as stock and as onewrite"}
		}
		kind = m.Client
		return object{"protocol": 1, "client": kind, "adapter": "net/http", "version": "1", "apis": []string{"http.Client"},
			"base": object{"name": "net/http", "version": runtime.Version()}, "runtime": runtime.Version(),
			"pid": os.Getpid(), "capabilities": capabilities}
	case "open":
		opened, why := open(m.Options, kind == "onewrite")
		if why != "" {
			return object{"skipped": why}
		}
		client = opened
		return object{"client_id": 1}
	case "request":
		return client.request(m)
	case "batch":
		results := make([]object, len(m.Requests))
		var all sync.WaitGroup
		for i := range m.Requests {
			all.Add(1)
			go func() {
				defer all.Done()
				results[i] = client.request(m.Requests[i])
			}()
		}
		all.Wait()
		return object{"results": results}
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
		reply := safely(m)
		reply["seq"] = m.Seq
		_ = json.NewEncoder(os.Stdout).Encode(reply) // one line, not buffered
		if m.Cmd == "bye" {
			return
		}
	}
}

// safely reports a fault of the driver as one, so that it is not held against net/http.
func safely(m message) (reply object) {
	defer func() {
		if recover() != nil {
			reply = object{"crashed": string(debug.Stack())}
		}
	}()
	return answer(m)
}
