// 20 POSTs by net/http. usage: client.go string|reader URL
package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	for turn := 0; turn < 20; turn++ {
		var body io.Reader = strings.NewReader(strings.Repeat("x", 200))
		if os.Args[1] == "reader" {
			body = io.MultiReader(body) // of unknown length
		}
		answer, err := http.Post(os.Args[2], "text/plain", body)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
