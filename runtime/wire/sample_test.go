package wire_test

// The types in this file have the shape that the generator emits. Tests and benchmarks use them, so that what is
// measured here is what users get.

import (
	"github.com/goldwire/goldwire/runtime/wire"
)

// CallToolParams: one required member, optional raw objects.
type CallToolParams struct {
	Name      string
	Arguments wire.Raw
	Meta      wire.Raw
	Extra     wire.Members
}

var callToolParamsNames = []string{"name", "arguments", "_meta"}

func isCallToolParamsMember(k string) bool {
	switch k {
	case "name", "arguments", "_meta":
		return true
	}
	return false
}

func (x *CallToolParams) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "name":
			bit = 1 << 0
			x.Name, err = d.Str()
		case "arguments":
			bit = 1 << 1
			x.Arguments, err = d.RawObjectOpt()
		case "_meta":
			bit = 1 << 2
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	return d.Require(seen, 0b1, callToolParamsNames)
}

func (x *CallToolParams) AppendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, x.Name)
	if x.Arguments != nil {
		b = append(b, `,"arguments":`...)
		b = wire.AppendRaw(b, x.Arguments)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isCallToolParamsMember)
	}
	return append(b, '}')
}

// Annotations: no required member, floats, a list of strings.
type Annotations struct {
	Audience     []string
	Priority     *float64
	LastModified *string
	Extra        wire.Members
}

func isAnnotationsMember(k string) bool {
	switch k {
	case "audience", "priority", "lastModified":
		return true
	}
	return false
}

func (x *Annotations) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		var bit uint64
		switch string(k) {
		case "audience":
			bit = 1 << 0
			x.Audience, err = d.StrsOpt()
		case "priority":
			bit = 1 << 1
			x.Priority, err = d.FloatPtr()
		case "lastModified":
			bit = 1 << 2
			x.LastModified, err = d.StrPtr()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
}

func (x *Annotations) AppendJSON(b []byte) []byte {
	n := len(b)
	if x.Audience != nil {
		b = append(b, `,"audience":`...)
		b = wire.AppendStrings(b, x.Audience)
	}
	if x.Priority != nil {
		b = append(b, `,"priority":`...)
		b = wire.AppendFloat(b, *x.Priority)
	}
	if x.LastModified != nil {
		b = append(b, `,"lastModified":`...)
		b = wire.AppendString(b, *x.LastModified)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isAnnotationsMember)
	}
	return wire.CloseObject(b, n)
}

// ContentBlock is a union told apart by the constant member "type".
type ContentBlock interface {
	isContentBlock()
	AppendJSON([]byte) []byte
}

type UnknownContentBlock struct {
	Tag string
	Raw wire.Raw
}

func (*TextContent) isContentBlock()         {}
func (*ImageContent) isContentBlock()        {}
func (*UnknownContentBlock) isContentBlock() {}

func (x *UnknownContentBlock) AppendJSON(b []byte) []byte { return wire.AppendRaw(b, x.Raw) }

func decodeContentBlock(d *wire.Dec) (ContentBlock, error) {
	tag, _, err := d.Disc("type")
	if err != nil {
		return nil, err
	}
	switch tag {
	case "text":
		x := new(TextContent)
		return x, x.DecodeJSON(d)
	case "image":
		x := new(ImageContent)
		return x, x.DecodeJSON(d)
	}
	x := &UnknownContentBlock{Tag: d.Own(tag)}
	x.Raw, err = d.Raw()
	return x, err
}

type TextContent struct {
	Text        string
	Annotations *Annotations
	Meta        wire.Raw
	Extra       wire.Members
}

var textContentNames = []string{"type", "text", "annotations", "_meta"}

func isTextContentMember(k string) bool {
	switch k {
	case "type", "text", "annotations", "_meta":
		return true
	}
	return false
}

func (x *TextContent) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "type":
			bit = 1 << 0
			err = d.Const("text")
		case "text":
			bit = 1 << 1
			x.Text, err = d.Str()
		case "annotations":
			bit = 1 << 2
			if !d.Null() {
				x.Annotations = new(Annotations)
				err = x.Annotations.DecodeJSON(d)
			}
		case "_meta":
			bit = 1 << 3
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	return d.Require(seen, 0b11, textContentNames)
}

func (x *TextContent) AppendJSON(b []byte) []byte {
	b = append(b, `{"type":"text","text":`...)
	b = wire.AppendString(b, x.Text)
	if x.Annotations != nil {
		b = append(b, `,"annotations":`...)
		b = x.Annotations.AppendJSON(b)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isTextContentMember)
	}
	return append(b, '}')
}

type ImageContent struct {
	Data, MIMEType string
	Annotations    *Annotations
	Meta           wire.Raw
	Extra          wire.Members
}

var imageContentNames = []string{"type", "data", "mimeType", "annotations", "_meta"}

func isImageContentMember(k string) bool {
	switch k {
	case "type", "data", "mimeType", "annotations", "_meta":
		return true
	}
	return false
}

func (x *ImageContent) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "type":
			bit = 1 << 0
			err = d.Const("image")
		case "data":
			bit = 1 << 1
			x.Data, err = d.Str()
		case "mimeType":
			bit = 1 << 2
			x.MIMEType, err = d.Str()
		case "annotations":
			bit = 1 << 3
			if !d.Null() {
				x.Annotations = new(Annotations)
				err = x.Annotations.DecodeJSON(d)
			}
		case "_meta":
			bit = 1 << 4
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	return d.Require(seen, 0b111, imageContentNames)
}

func (x *ImageContent) AppendJSON(b []byte) []byte {
	b = append(b, `{"type":"image","data":`...)
	b = wire.AppendString(b, x.Data)
	b = append(b, `,"mimeType":`...)
	b = wire.AppendString(b, x.MIMEType)
	if x.Annotations != nil {
		b = append(b, `,"annotations":`...)
		b = x.Annotations.AppendJSON(b)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isImageContentMember)
	}
	return append(b, '}')
}

// CallToolResult: a required list of a union, a raw value that may be null, an optional boolean.
type CallToolResult struct {
	Content           []ContentBlock
	StructuredContent wire.Raw
	IsError           *bool
	Meta              wire.Raw
	Extra             wire.Members
}

var callToolResultNames = []string{"content", "structuredContent", "isError", "_meta"}

func isCallToolResultMember(k string) bool {
	switch k {
	case "content", "structuredContent", "isError", "_meta":
		return true
	}
	return false
}

func (x *CallToolResult) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "content":
			bit = 1 << 0
			x.Content, err = decodeContentBlocks(d)
		case "structuredContent":
			bit = 1 << 1
			x.StructuredContent, err = d.Raw()
		case "isError":
			bit = 1 << 2
			x.IsError, err = d.BoolPtr()
		case "_meta":
			bit = 1 << 3
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	if seen&0b1 == 0 && d.Lenient() {
		x.Content = []ContentBlock{}
		d.Forgive("missing, taken as []", "content")
		seen |= 0b1
	}
	return d.Require(seen, 0b1, callToolResultNames)
}

// decodeContentBlocks reads a list of a union. A bad element ends a strict list and is passed over in a lenient one.
func decodeContentBlocks(d *wire.Dec) ([]ContentBlock, error) {
	if err := d.ArrBegin(); err != nil {
		return nil, err
	}
	l := []ContentBlock{}
	start := d.Mark()
	for {
		if done, err := d.Elem(); done || err != nil {
			return l, err
		}
		m := d.Mark()
		v, err := decodeContentBlock(d)
		if err != nil {
			if err = d.Skip(m, err); err != nil {
				return nil, err
			}
			continue
		}
		if len(l) == cap(l) {
			l = wire.Grow(d, l, start)
		}
		l = append(l, v)
	}
}

func (x *CallToolResult) AppendJSON(b []byte) []byte {
	b = append(b, `{"content":[`...)
	for i, v := range x.Content {
		if i > 0 {
			b = append(b, ',')
		}
		if v == nil {
			b = append(b, "null"...)
		} else {
			b = v.AppendJSON(b)
		}
	}
	b = append(b, ']')
	if x.StructuredContent != nil {
		b = append(b, `,"structuredContent":`...)
		b = wire.AppendRaw(b, x.StructuredContent)
	}
	if x.IsError != nil {
		b = append(b, `,"isError":`...)
		b = wire.AppendBool(b, *x.IsError)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isCallToolResultMember)
	}
	return append(b, '}')
}

// ToolAnnotations: optional scalars only.
type ToolAnnotations struct {
	Title           *string
	ReadOnlyHint    *bool
	DestructiveHint *bool
	IdempotentHint  *bool
	OpenWorldHint   *bool
	Extra           wire.Members
}

func isToolAnnotationsMember(k string) bool {
	switch k {
	case "title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
		return true
	}
	return false
}

func (x *ToolAnnotations) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		var bit uint64
		switch string(k) {
		case "title":
			bit = 1 << 0
			x.Title, err = d.StrPtr()
		case "readOnlyHint":
			bit = 1 << 1
			x.ReadOnlyHint, err = d.BoolPtr()
		case "destructiveHint":
			bit = 1 << 2
			x.DestructiveHint, err = d.BoolPtr()
		case "idempotentHint":
			bit = 1 << 3
			x.IdempotentHint, err = d.BoolPtr()
		case "openWorldHint":
			bit = 1 << 4
			x.OpenWorldHint, err = d.BoolPtr()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
}

func (x *ToolAnnotations) AppendJSON(b []byte) []byte {
	n := len(b)
	if x.Title != nil {
		b = append(b, `,"title":`...)
		b = wire.AppendString(b, *x.Title)
	}
	if x.ReadOnlyHint != nil {
		b = append(b, `,"readOnlyHint":`...)
		b = wire.AppendBool(b, *x.ReadOnlyHint)
	}
	if x.DestructiveHint != nil {
		b = append(b, `,"destructiveHint":`...)
		b = wire.AppendBool(b, *x.DestructiveHint)
	}
	if x.IdempotentHint != nil {
		b = append(b, `,"idempotentHint":`...)
		b = wire.AppendBool(b, *x.IdempotentHint)
	}
	if x.OpenWorldHint != nil {
		b = append(b, `,"openWorldHint":`...)
		b = wire.AppendBool(b, *x.OpenWorldHint)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isToolAnnotationsMember)
	}
	return wire.CloseObject(b, n)
}

// Tool: required and optional members of several kinds.
type Tool struct {
	Name         string
	InputSchema  wire.Raw
	Title        *string
	Description  *string
	OutputSchema wire.Raw
	Annotations  *ToolAnnotations
	Meta         wire.Raw
	Extra        wire.Members
}

var toolNames = []string{"name", "inputSchema", "title", "description", "outputSchema", "annotations", "_meta"}

func isToolMember(k string) bool {
	switch k {
	case "name", "inputSchema", "title", "description", "outputSchema", "annotations", "_meta":
		return true
	}
	return false
}

func (x *Tool) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "name":
			bit = 1 << 0
			x.Name, err = d.Str()
		case "inputSchema":
			bit = 1 << 1
			x.InputSchema, err = d.RawObject()
		case "title":
			bit = 1 << 2
			x.Title, err = d.StrPtr()
		case "description":
			bit = 1 << 3
			x.Description, err = d.StrPtr()
		case "outputSchema":
			bit = 1 << 4
			x.OutputSchema, err = d.RawObjectOpt()
		case "annotations":
			bit = 1 << 5
			if !d.Null() {
				x.Annotations = new(ToolAnnotations)
				err = x.Annotations.DecodeJSON(d)
			}
		case "_meta":
			bit = 1 << 6
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	return d.Require(seen, 0b11, toolNames)
}

func (x *Tool) AppendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, x.Name)
	b = append(b, `,"inputSchema":`...)
	b = wire.AppendRawObject(b, x.InputSchema)
	if x.Title != nil {
		b = append(b, `,"title":`...)
		b = wire.AppendString(b, *x.Title)
	}
	if x.Description != nil {
		b = append(b, `,"description":`...)
		b = wire.AppendString(b, *x.Description)
	}
	if x.OutputSchema != nil {
		b = append(b, `,"outputSchema":`...)
		b = wire.AppendRaw(b, x.OutputSchema)
	}
	if x.Annotations != nil {
		b = append(b, `,"annotations":`...)
		b = x.Annotations.AppendJSON(b)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isToolMember)
	}
	return append(b, '}')
}

// ListToolsResult: a list of structs.
type ListToolsResult struct {
	Tools      []Tool
	NextCursor *string
	Meta       wire.Raw
	Extra      wire.Members
}

var listToolsResultNames = []string{"tools", "nextCursor", "_meta"}

func isListToolsResultMember(k string) bool {
	switch k {
	case "tools", "nextCursor", "_meta":
		return true
	}
	return false
}

func (x *ListToolsResult) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "tools":
			bit = 1 << 0
			x.Tools, err = decodeTools(d)
		case "nextCursor":
			bit = 1 << 1
			x.NextCursor, err = d.StrPtr()
		case "_meta":
			bit = 1 << 2
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	if seen&0b1 == 0 && d.Lenient() {
		x.Tools = []Tool{}
		d.Forgive("missing, taken as []", "tools")
		seen |= 0b1
	}
	return d.Require(seen, 0b1, listToolsResultNames)
}

// decodeTools reads a list of structs, each in its place.
func decodeTools(d *wire.Dec) ([]Tool, error) {
	if err := d.ArrBegin(); err != nil {
		return nil, err
	}
	l := []Tool{}
	start := d.Mark()
	for {
		if done, err := d.Elem(); done || err != nil {
			return l, err
		}
		if len(l) == cap(l) {
			l = wire.Grow(d, l, start)
		}
		m := d.Mark()
		l = append(l, Tool{})
		if err := l[len(l)-1].DecodeJSON(d); err != nil {
			l = l[:len(l)-1]
			if err = d.Skip(m, err); err != nil {
				return nil, err
			}
		}
	}
}

func (x *ListToolsResult) AppendJSON(b []byte) []byte {
	b = append(b, `{"tools":[`...)
	for i := range x.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = x.Tools[i].AppendJSON(b)
	}
	b = append(b, ']')
	if x.NextCursor != nil {
		b = append(b, `,"nextCursor":`...)
		b = wire.AppendString(b, *x.NextCursor)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isListToolsResultMember)
	}
	return append(b, '}')
}

// ProgressParams: numbers; the token stands for jsonrpc.ID, which reads itself.
type ProgressParams struct {
	ProgressToken wire.Raw
	Progress      float64
	Total         *float64
	Message       *string
	Meta          wire.Raw
	Extra         wire.Members
}

var progressParamsNames = []string{"progressToken", "progress", "total", "message", "_meta"}

func isProgressParamsMember(k string) bool {
	switch k {
	case "progressToken", "progress", "total", "message", "_meta":
		return true
	}
	return false
}

func (x *ProgressParams) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		var bit uint64
		switch string(k) {
		case "progressToken":
			bit = 1 << 0
			err = x.ProgressToken.DecodeJSON(d)
		case "progress":
			bit = 1 << 1
			x.Progress, err = d.Float()
		case "total":
			bit = 1 << 2
			x.Total, err = d.FloatPtr()
		case "message":
			bit = 1 << 3
			x.Message, err = d.StrPtr()
		case "_meta":
			bit = 1 << 4
			x.Meta, err = d.RawObjectOpt()
		default:
			err = x.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
		if seen&bit != 0 {
			return d.Dup()
		}
		seen |= bit
	}
	return d.Require(seen, 0b11, progressParamsNames)
}

func (x *ProgressParams) AppendJSON(b []byte) []byte {
	b = append(b, `{"progressToken":`...)
	b = wire.AppendRaw(b, x.ProgressToken)
	b = append(b, `,"progress":`...)
	b = wire.AppendFloat(b, x.Progress)
	if x.Total != nil {
		b = append(b, `,"total":`...)
		b = wire.AppendFloat(b, *x.Total)
	}
	if x.Message != nil {
		b = append(b, `,"message":`...)
		b = wire.AppendString(b, *x.Message)
	}
	if x.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, x.Meta)
	}
	if x.Extra != nil {
		b = wire.AppendMembers(b, x.Extra, isProgressParamsMember)
	}
	return append(b, '}')
}
