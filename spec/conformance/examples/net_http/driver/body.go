package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/url"
	"strings"
	"time"
)

// body is the body of a request, as PROTOCOL.md describes its kinds.
type body struct {
	Kind, Fill string
	Text       *string
	B64        []byte
	Size       int
	Fields     []json.RawMessage
	Chunks     []int
	Length     bool
	Declared   *int64 `json:"declared_size"`
	Gap        int    `json:"gap_ms"`
}

// reader returns what a Go program would pass to http.NewRequest. The length is -1 where net/http finds it out.
func (b *body) reader() (content io.Reader, length int64, contentType string, err error) {
	if b == nil {
		return nil, -1, "", nil
	}
	switch b.Kind {
	case "none":
		return nil, -1, "", nil
	case "bytes":
		return bytes.NewReader(b.bytes()), -1, "", nil
	case "text":
		return strings.NewReader(string(b.bytes())), -1, "", nil
	case "memory_file":
		return bytes.NewBuffer(b.bytes()), -1, "", nil
	case "form":
		return strings.NewReader(b.form()), -1, "application/x-www-form-urlencoded", nil
	case "multipart":
		return b.multipart()
	case "stream":
		length = -1
		if b.Length {
			for _, size := range b.Chunks {
				length = max(length, 0) + int64(size)
			}
		}
		if b.Declared != nil {
			length = *b.Declared
		}
		return &stream{fill: b.fill(), chunks: b.Chunks, gap: time.Duration(b.Gap) * time.Millisecond}, length, "", nil
	}
	return nil, 0, "", errors.New("this small driver has no body of kind " + b.Kind)
}

func (b *body) fill() string {
	if b.Fill == "" {
		return "x"
	}
	return b.Fill
}

func (b *body) bytes() []byte {
	if b.B64 != nil {
		return b.B64
	}
	if b.Text != nil {
		return []byte(*b.Text)
	}
	return []byte(strings.Repeat(b.fill(), b.Size))
}

func (b *body) form() string {
	values := url.Values{}
	for _, field := range b.Fields {
		var pair [2]string
		_ = json.Unmarshal(field, &pair)
		values.Add(pair[0], pair[1])
	}
	return values.Encode()
}

func (b *body) multipart() (io.Reader, int64, string, error) {
	var content bytes.Buffer
	form := multipart.NewWriter(&content)
	for _, raw := range b.Fields {
		var field struct {
			Name, Value, Filename string
			Size                  int
		}
		if err := json.Unmarshal(raw, &field); err != nil {
			return nil, 0, "", err
		}
		if field.Filename == "" {
			if err := form.WriteField(field.Name, field.Value); err != nil {
				return nil, 0, "", err
			}
			continue
		}
		part, err := form.CreateFormFile(field.Name, field.Filename)
		if err != nil {
			return nil, 0, "", err
		}
		if _, err := part.Write(bytes.Repeat([]byte(b.fill()), field.Size)); err != nil {
			return nil, 0, "", err
		}
	}
	return &content, -1, form.FormDataContentType(), form.Close()
}

// stream reads one chunk at a time, with a pause before each but the first.
type stream struct {
	fill   string
	chunks []int
	gap    time.Duration
	begun  bool
	rest   int
}

func (s *stream) Read(p []byte) (int, error) {
	if s.rest == 0 {
		if len(s.chunks) == 0 {
			return 0, io.EOF
		}
		if s.begun {
			time.Sleep(s.gap)
		}
		s.begun, s.rest, s.chunks = true, s.chunks[0], s.chunks[1:]
	}
	size := min(s.rest, len(p))
	copy(p, strings.Repeat(s.fill, size))
	s.rest -= size
	return size, nil
}
