// Package hand is a codec written by hand, the limit that the others are
// measured against: what somebody would write for these messages and no others.
// One pass over the text checks all of its grammar, escapes and UTF-8; strings
// without escapes and raw values alias it. It keeps no unknown members, lets a
// member come twice and says of an error only that there is one.
package hand

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

var errInvalid = errors.New("not a valid message")

const maxDepth = 1000

type call struct {
	name            string
	arguments, meta []byte
	modern          *meta // what _meta says, where its members are known
}

// meta is what a server of 2026-07-28 has to look at in each request.
type meta struct {
	version, name, release string
	capabilities           []byte
}

type progress struct {
	token           []byte
	progress, total float64
	message         string
}

type content struct {
	typ, text, mimeType, data string
	annotations, meta         []byte
}

type result struct {
	content          []content
	structured, meta []byte
	isError          bool
}

type tool struct {
	name, title, description        string
	inputSchema, outputSchema, meta []byte
	annotations                     *hints
}

type hints struct {
	title                  string
	readOnly, idempotent   bool
	destructive, openWorld *bool
}

type tools struct {
	tools      []tool
	nextCursor string
}

type contents struct {
	uri, mimeType, text, blob string
	bytes                     []byte
	hasText                   bool
}

type reading struct{ contents []contents }

// Kind says what a message carries, which its receiver knows: from the method,
// or from the call that it answers.
type Kind int

// The kinds of messages.
const (
	KindCall     Kind = iota // the request tools/call
	KindProgress             // the notification notifications/progress
	KindResult               // the answer to tools/call
	KindTools                // the answer to tools/list
	KindRead                 // the answer to resources/read
)

// Form is how a message is to be read.
type Form struct {
	Kind
	Meta  bool // of a call is read, which else is left as it came
	Bytes bool // a blob is wanted as bytes, not as base64
}

// Decode reads the params or the result of a message.
func Decode(text []byte, f Form) (body any, err error) {
	h := head{cursor: cursor{b: text}}
	return h.message(f)
}

// Echo appends the answer to a call of a tool that answers with its argument
// message. It is false for what is no such call.
func Echo(b, text []byte, server string) ([]byte, bool) {
	h := head{cursor: cursor{b: text}}
	v, err := h.message(Form{Kind: KindCall, Meta: true})
	if err != nil || h.method != "tools/call" {
		return b, false
	}
	p := v.(*call)
	a := cursor{b: p.arguments}
	var message string
	for first := true; ; first = false {
		k, err := a.member(first)
		switch {
		case err != nil:
			return b, false
		case k == nil:
			if b = Append(b, KindResult, h.id, &result{content: []content{{typ: "text", text: message}}}); p.modern.version == "2026-07-28" {
				b = append(append(append(b[:len(b)-2], `,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":`...), server...), "}}}"...)
			}
			return b, true
		case string(k) == "message":
			message, err = a.str()
		default:
			_, err = a.raw()
		}
		if err != nil {
			return b, false
		}
	}
}

// head is the envelope of a message that is being read.
type head struct {
	cursor
	id      []byte
	method  string
	version bool
}

func (h *head) message(f Form) (v any, err error) {
	for first := true; ; first = false {
		k, err := h.member(first)
		if err != nil {
			return nil, err
		}
		if k == nil {
			break
		}
		switch string(k) {
		case "jsonrpc":
			var s string
			s, err = h.str()
			h.version = s == "2.0"
		case "id":
			h.id, err = h.raw()
		case "method":
			h.method, err = h.str()
		case "params", "result":
			v, err = h.body(f)
		default:
			_, err = h.raw()
		}
		if err != nil {
			return nil, err
		}
	}
	if h.space(); h.i < len(h.b) || !h.version || v == nil {
		return nil, errInvalid
	}
	return v, nil
}

func (c *cursor) body(f Form) (any, error) {
	switch f.Kind {
	case KindCall:
		v := new(call)
		if f.Meta {
			v.modern = new(meta)
		}
		return v, c.call(v)
	case KindProgress:
		v := new(progress)
		return v, c.progress(v)
	case KindResult:
		v := new(result)
		return v, c.result(v)
	case KindTools:
		v := new(tools)
		return v, c.tools(v)
	}
	v := new(reading)
	return v, c.read(v, f.Bytes)
}

func (c *cursor) call(v *call) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "name":
			v.name, err = c.str()
		case "arguments":
			v.arguments, err = c.raw()
		case "_meta":
			if v.modern != nil {
				err = c.meta(v.modern)
			} else {
				v.meta, err = c.raw()
			}
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) meta(v *meta) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "io.modelcontextprotocol/protocolVersion":
			v.version, err = c.str()
		case "io.modelcontextprotocol/clientInfo":
			err = c.info(v)
		case "io.modelcontextprotocol/clientCapabilities":
			v.capabilities, err = c.raw()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) info(v *meta) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "name":
			v.name, err = c.str()
		case "version":
			v.release, err = c.str()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) progress(v *progress) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "progressToken":
			v.token, err = c.raw()
		case "progress":
			v.progress, err = c.float()
		case "total":
			v.total, err = c.float()
		case "message":
			v.message, err = c.str()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) result(v *result) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "content":
			for first := true; ; first = false {
				more, err := c.element(first)
				if err != nil {
					return err
				}
				if !more {
					break
				}
				v.content = append(v.content, content{})
				if err := c.content(&v.content[len(v.content)-1]); err != nil {
					return err
				}
			}
		case "structuredContent":
			v.structured, err = c.raw()
		case "isError":
			v.isError, err = c.boolean()
		case "_meta":
			v.meta, err = c.raw()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) content(v *content) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "type":
			v.typ, err = c.str()
		case "text":
			v.text, err = c.str()
		case "mimeType":
			v.mimeType, err = c.str()
		case "data":
			v.data, err = c.str()
		case "annotations":
			v.annotations, err = c.raw()
		case "_meta":
			v.meta, err = c.raw()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) tools(v *tools) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "tools":
			for first := true; ; first = false {
				more, err := c.element(first)
				if err != nil {
					return err
				}
				if !more {
					break
				}
				v.tools = append(v.tools, tool{})
				if err := c.tool(&v.tools[len(v.tools)-1]); err != nil {
					return err
				}
			}
		case "nextCursor":
			v.nextCursor, err = c.str()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) tool(v *tool) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "name":
			v.name, err = c.str()
		case "title":
			v.title, err = c.str()
		case "description":
			v.description, err = c.str()
		case "inputSchema":
			v.inputSchema, err = c.raw()
		case "outputSchema":
			v.outputSchema, err = c.raw()
		case "annotations":
			v.annotations = new(hints)
			err = c.hints(v.annotations)
		case "_meta":
			v.meta, err = c.raw()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) hints(v *hints) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "title":
			v.title, err = c.str()
		case "readOnlyHint":
			v.readOnly, err = c.boolean()
		case "idempotentHint":
			v.idempotent, err = c.boolean()
		case "destructiveHint":
			v.destructive = new(bool)
			*v.destructive, err = c.boolean()
		case "openWorldHint":
			v.openWorld = new(bool)
			*v.openWorld, err = c.boolean()
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

func (c *cursor) read(v *reading, bytes bool) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		if string(k) != "contents" {
			if _, err := c.raw(); err != nil {
				return err
			}
			continue
		}
		for first := true; ; first = false {
			more, err := c.element(first)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			v.contents = append(v.contents, contents{})
			if err := c.contents(&v.contents[len(v.contents)-1], bytes); err != nil {
				return err
			}
		}
	}
}

func (c *cursor) contents(v *contents, bytes bool) error {
	for first := true; ; first = false {
		k, err := c.member(first)
		if k == nil || err != nil {
			return err
		}
		switch string(k) {
		case "uri":
			v.uri, err = c.str()
		case "mimeType":
			v.mimeType, err = c.str()
		case "text":
			v.hasText = true
			v.text, err = c.str()
		case "blob":
			if v.blob, err = c.str(); err == nil && bytes {
				v.bytes, err = base64.StdEncoding.DecodeString(v.blob)
				v.blob = ""
			}
		default:
			_, err = c.raw()
		}
		if err != nil {
			return err
		}
	}
}

// cursor is a place in a text.
type cursor struct {
	b []byte
	i int
}

func (c *cursor) space() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\n' || c.b[c.i] == '\t' || c.b[c.i] == '\r') {
		c.i++
	}
}

// peek is the next byte that is not white space, 0 at the end.
func (c *cursor) peek() byte {
	if c.i < len(c.b) && c.b[c.i] > ' ' {
		return c.b[c.i]
	}
	if c.space(); c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// member goes to the next member of an object and returns its name, nil at the
// end of the object. first enters the object.
func (c *cursor) member(first bool) ([]byte, error) {
	x := c.peek()
	switch {
	case first && x == '{':
		c.i++
		if c.peek() == '}' {
			c.i++
			return nil, nil
		}
	case !first && x == ',':
		c.i++
	case !first && x == '}':
		c.i++
		return nil, nil
	default:
		return nil, errInvalid
	}
	if c.peek() != '"' {
		return nil, errInvalid
	}
	s := c.i + 1
	escaped, err := c.chars()
	if err != nil {
		return nil, err
	}
	k := c.b[s : c.i-1]
	if escaped {
		k = unescape(k)
	}
	if c.peek() != ':' {
		return nil, errInvalid
	}
	c.i++
	return k, nil
}

// element goes to the next element of an array.
func (c *cursor) element(first bool) (more bool, err error) {
	x := c.peek()
	switch {
	case first && x == '[':
		c.i++
		if c.peek() == ']' {
			c.i++
			return false, nil
		}
		return true, nil
	case !first && x == ',':
		c.i++
		return true, nil
	case !first && x == ']':
		c.i++
		return false, nil
	}
	return false, errInvalid
}

func (c *cursor) str() (string, error) {
	if c.peek() != '"' {
		return "", errInvalid
	}
	s := c.i + 1
	escaped, err := c.chars()
	if err != nil {
		return "", err
	}
	p := c.b[s : c.i-1]
	if escaped {
		p = unescape(p)
	}
	return unsafe.String(unsafe.SliceData(p), len(p)), nil
}

func (c *cursor) boolean() (bool, error) {
	c.peek()
	rest := c.b[c.i:]
	switch {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		c.i += 4
		return true, nil
	case len(rest) >= 5 && string(rest[:5]) == "false":
		c.i += 5
		return false, nil
	}
	return false, errInvalid
}

func (c *cursor) float() (float64, error) {
	c.peek()
	s := c.i
	if err := c.number(); err != nil {
		return 0, err
	}
	p := c.b[s:c.i]
	return strconv.ParseFloat(unsafe.String(unsafe.SliceData(p), len(p)), 64)
}

func (c *cursor) raw() ([]byte, error) {
	c.peek()
	s := c.i
	if err := c.skip(0); err != nil {
		return nil, err
	}
	return c.b[s:c.i:c.i], nil
}

// skip goes over one value and checks it.
func (c *cursor) skip(depth int) (err error) {
	if depth > maxDepth {
		return errInvalid
	}
	switch c.peek() {
	case '"':
		_, err = c.chars()
		return err
	case '{':
		c.i++
		if c.peek() == '}' {
			c.i++
			return nil
		}
		for {
			if c.peek() != '"' {
				return errInvalid
			}
			if _, err := c.chars(); err != nil {
				return err
			}
			if c.peek() != ':' {
				return errInvalid
			}
			c.i++
			if err := c.skip(depth + 1); err != nil {
				return err
			}
			switch c.peek() {
			case '}':
				c.i++
				return nil
			case ',':
				c.i++
			default:
				return errInvalid
			}
		}
	case '[':
		c.i++
		if c.peek() == ']' {
			c.i++
			return nil
		}
		for {
			if err := c.skip(depth + 1); err != nil {
				return err
			}
			switch c.peek() {
			case ']':
				c.i++
				return nil
			case ',':
				c.i++
			default:
				return errInvalid
			}
		}
	case 't', 'f':
		_, err = c.boolean()
		return err
	case 'n':
		if rest := c.b[c.i:]; len(rest) >= 4 && string(rest[:4]) == "null" {
			c.i += 4
			return nil
		}
		return errInvalid
	}
	return c.number()
}

func (c *cursor) digits() bool {
	s := c.i
	for c.i < len(c.b) && c.b[c.i]-'0' < 10 {
		c.i++
	}
	return c.i > s
}

func (c *cursor) at(x byte) bool { return c.i < len(c.b) && c.b[c.i] == x }

func (c *cursor) number() error {
	if c.at('-') {
		c.i++
	}
	if c.at('0') {
		c.i++
	} else if !c.digits() {
		return errInvalid
	}
	if c.at('.') {
		c.i++
		if !c.digits() {
			return errInvalid
		}
	}
	if c.at('e') || c.at('E') {
		c.i++
		if c.at('+') || c.at('-') {
			c.i++
		}
		if !c.digits() {
			return errInvalid
		}
	}
	return nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// ends marks, in the high bits of the bytes of w, the first quote, backslash or
// control character.
func ends(w uint64) uint64 {
	return ((w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & ^w & highs
}

// chars goes from a quote to behind the quote that closes the string.
func (c *cursor) chars() (escaped bool, err error) {
	b := c.b
	i := c.i + 1
	s := i
	var wide uint64
	for {
		for len(b)-i >= 8 {
			w := binary.LittleEndian.Uint64(b[i:])
			m := ends(w)
			if m == 0 {
				wide |= w & highs
				i += 8
				continue
			}
			n := bits.TrailingZeros64(m) >> 3
			wide |= w & highs & (1<<(8*n) - 1)
			i += n
			goto found
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
			wide |= uint64(b[i]) & highs
			i++
		}
		if i >= len(b) {
			return false, errInvalid
		}
	found:
		switch b[i] {
		case '"':
			if wide != 0 && !utf8.Valid(b[s:i]) {
				return false, errInvalid
			}
			c.i = i + 1
			return escaped, nil
		case '\\':
			escaped = true
			if len(b)-i < 2 {
				return false, errInvalid
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if len(b)-i < 6 || hex4(b[i+2:]) < 0 {
					return false, errInvalid
				}
				i += 6
			default:
				return false, errInvalid
			}
		default:
			return false, errInvalid
		}
	}
}

func hex4(p []byte) (r rune) {
	for _, x := range p[:4] {
		switch {
		case x-'0' < 10:
			r = r<<4 | rune(x-'0')
		case x|0x20 >= 'a' && x|0x20 <= 'f':
			r = r<<4 | rune(x|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// unescape translates a checked string body.
func unescape(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for {
		i := 0
		for len(p)-i >= 8 {
			w := binary.LittleEndian.Uint64(p[i:]) ^ '\\'*ones
			if m := (w - ones) & ^w & highs; m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			i += 8
		}
		for i < len(p) && p[i] != '\\' {
			i++
		}
	found:
		out = append(out, p[:i]...)
		if i == len(p) {
			return out
		}
		x := p[i+1]
		p = p[i+2:]
		switch x {
		case 'n':
			x = '\n'
		case 't':
			x = '\t'
		case 'r':
			x = '\r'
		case 'b':
			x = '\b'
		case 'f':
			x = '\f'
		case 'u':
			r := hex4(p)
			p = p[4:]
			if utf16.IsSurrogate(r) {
				q := rune(utf8.RuneError)
				if len(p) >= 6 && p[0] == '\\' && p[1] == 'u' {
					q = utf16.DecodeRune(r, hex4(p[2:]))
				}
				if r = q; r != utf8.RuneError {
					p = p[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, x)
	}
}

// Append appends a message with such a body; a notification has no id.
func Append(b []byte, k Kind, id []byte, body any) []byte {
	b = append(b, `{"jsonrpc":"2.0",`...)
	if k != KindProgress {
		b = append(append(b, `"id":`...), id...)
	}
	switch k {
	case KindCall:
		v := body.(*call)
		b = quoted(b, `,"method":"tools/call","params":{"name":`, v.name)
		b = member(b, `,"arguments":`, v.arguments)
		b = member(b, `,"_meta":`, v.meta)
		if t := v.modern; t != nil {
			b = quoted(b, `,"_meta":{"io.modelcontextprotocol/protocolVersion":`, t.version)
			b = quoted(b, `,"io.modelcontextprotocol/clientInfo":{"name":`, t.name)
			b = quoted(b, `,"version":`, t.release)
			b = append(append(b, `},"io.modelcontextprotocol/clientCapabilities":`...), t.capabilities...)
			b = append(b, '}')
		}
	case KindProgress:
		v := body.(*progress)
		b = append(append(b, `"method":"notifications/progress","params":{"progressToken":`...), v.token...)
		b = strconv.AppendFloat(append(b, `,"progress":`...), v.progress, 'f', -1, 64)
		if v.total != 0 {
			b = strconv.AppendFloat(append(b, `,"total":`...), v.total, 'f', -1, 64)
		}
		if v.message != "" {
			b = quoted(b, `,"message":`, v.message)
		}
	case KindResult:
		v := body.(*result)
		b = append(b, `,"result":{"content":[`...)
		for i := range v.content {
			b = appendContent(b, i, &v.content[i])
		}
		b = append(b, ']')
		b = member(b, `,"structuredContent":`, v.structured)
		if v.isError {
			b = append(b, `,"isError":true`...)
		}
		b = member(b, `,"_meta":`, v.meta)
	case KindTools:
		v := body.(*tools)
		b = append(b, `,"result":{"tools":[`...)
		for i := range v.tools {
			b = appendTool(b, i, &v.tools[i])
		}
		b = append(b, ']')
		if v.nextCursor != "" {
			b = quoted(b, `,"nextCursor":`, v.nextCursor)
		}
	case KindRead:
		b = append(b, `,"result":{"contents":[`...)
		for i, c := range body.(*reading).contents {
			if i > 0 {
				b = append(b, ',')
			}
			b = quoted(b, `{"uri":`, c.uri)
			if c.mimeType != "" {
				b = quoted(b, `,"mimeType":`, c.mimeType)
			}
			switch {
			case c.hasText:
				b = quoted(b, `,"text":`, c.text)
			case c.bytes != nil:
				b = append(base64.StdEncoding.AppendEncode(append(b, `,"blob":"`...), c.bytes), '"')
			default:
				b = quoted(b, `,"blob":`, c.blob)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return append(b, "}}"...)
}

func member(b []byte, key string, raw []byte) []byte {
	if len(raw) == 0 {
		return b
	}
	return append(append(b, key...), raw...)
}

func appendContent(b []byte, i int, v *content) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = quoted(b, `{"type":`, v.typ)
	switch v.typ {
	case "text":
		b = quoted(b, `,"text":`, v.text)
	case "image", "audio":
		b = quoted(b, `,"data":`, v.data)
		b = quoted(b, `,"mimeType":`, v.mimeType)
	}
	b = member(b, `,"annotations":`, v.annotations)
	b = member(b, `,"_meta":`, v.meta)
	return append(b, '}')
}

func appendTool(b []byte, i int, v *tool) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = quoted(b, `{"name":`, v.name)
	if v.title != "" {
		b = quoted(b, `,"title":`, v.title)
	}
	if v.description != "" {
		b = quoted(b, `,"description":`, v.description)
	}
	b = member(b, `,"inputSchema":`, v.inputSchema)
	b = member(b, `,"outputSchema":`, v.outputSchema)
	if a := v.annotations; a != nil {
		b = append(b, `,"annotations":`...)
		n := len(b)
		if a.title != "" {
			b = quoted(b, `,"title":`, a.title)
		}
		if a.readOnly {
			b = append(b, `,"readOnlyHint":true`...)
		}
		if a.idempotent {
			b = append(b, `,"idempotentHint":true`...)
		}
		if a.destructive != nil {
			b = strconv.AppendBool(append(b, `,"destructiveHint":`...), *a.destructive)
		}
		if a.openWorld != nil {
			b = strconv.AppendBool(append(b, `,"openWorldHint":`...), *a.openWorld)
		}
		if len(b) == n {
			b = append(b, ',')
		}
		b[n] = '{'
		b = append(b, '}')
	}
	b = member(b, `,"_meta":`, v.meta)
	return append(b, '}')
}

// quoted appends a key and a string, which must be UTF-8.
func quoted(b []byte, key, s string) []byte {
	b = append(b, key...)
	b = slices.Grow(b, len(s)+2)
	b = append(b, '"')
	p := unsafe.Slice(unsafe.StringData(s), len(s))
	for {
		i := 0
		for len(p)-i >= 8 {
			if m := ends(binary.LittleEndian.Uint64(p[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			i += 8
		}
		for i < len(p) && p[i] != '"' && p[i] != '\\' && p[i] >= ' ' {
			i++
		}
	found:
		b = append(b, p[:i]...)
		if i == len(p) {
			return append(b, '"')
		}
		switch x := p[i]; x {
		case '"', '\\':
			b = append(b, '\\', x)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, '\\', 'u', '0', '0', "0123456789abcdef"[x>>4], "0123456789abcdef"[x&15])
		}
		p = p[i+1:]
	}
}
