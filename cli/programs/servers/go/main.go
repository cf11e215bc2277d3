// One small answer by net/http.
package main

import (
	"net/http"
	"os"
	"strings"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(strings.Repeat("x", 200))) })
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
