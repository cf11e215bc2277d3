// Go's net/http as people use it. usage: client URL COUNT
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
)

func main() {
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for turn := 0; turn < count; turn++ {
		response, err := http.Post(os.Args[1], "text/plain", strings.NewReader(strings.Repeat("x", 200)))
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
