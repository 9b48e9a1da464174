package compat

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Sealer makes a requestState that can be believed when the client gives it
// back: it is encrypted and authenticated (AES-256-GCM), bound to who asks
// (jsonrpc.WithPrincipal), to the method and to the params of the request, and
// it expires. A handler seals what it wants to remember between two rounds of a
// request, and whichever replica gets the next round opens it, if it has the same
// keys. A state may be given back more than once until it expires: what must
// happen once has to be remembered elsewhere. Specification:
// basic/patterns/mrtr (2026-07-28).
type Sealer struct {
	keys []sealKey
	ttl  time.Duration
}

type sealKey struct {
	id   [4]byte
	aead cipher.AEAD
}

const (
	stateVersion = 1
	maxState     = 64 << 10 // bytes of a state, sealed
	stateTTL     = 10 * time.Minute
	minKey       = 16
)

// NewSealer makes a sealer of secret keys, at least 16 random bytes each. The
// first key seals, all of them open: to change keys without a break, first add
// the new one behind the old on every replica, then put it in front, and leave
// the old one out when ttl has passed. ttl is how long a state is good; 0 means
// ten minutes.
func NewSealer(ttl time.Duration, keys ...[]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key to seal with")
	}
	if ttl < 0 {
		return nil, errors.New("a state cannot be good for less than no time")
	}
	if ttl == 0 {
		ttl = stateTTL
	}
	s := &Sealer{ttl: ttl}
	for i, k := range keys {
		if len(k) < minKey {
			return nil, fmt.Errorf("key %d has %d bytes, fewer than %d", i, len(k), minKey)
		}
		secret, err := hkdf.Key(sha256.New, k, nil, "goldwire request state", 36)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(secret[:32])
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, sealKey{id: [4]byte(secret[32:]), aead: aead})
	}
	return s, nil
}

// ownSealer is one whose states no other process can open.
func ownSealer() *Sealer {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	s, _ := NewSealer(0, key)
	return s
}

// Seal makes a requestState of data for the request that is being handled: ctx is
// its handler's. A sealed state is a third longer than data; one of more than
// 64 KiB is refused.
func (s *Sealer) Seal(ctx context.Context, data []byte) (string, error) {
	return s.seal(ctx, "handler", data)
}

// Open gives back what Seal was given. It fails with an *jsonrpc.Error,
// CodeInvalidParams, for what was not sealed with one of the keys for this
// principal, method and params, and for what has expired.
func (s *Sealer) Open(ctx context.Context, state string) ([]byte, error) {
	return s.open(ctx, "handler", state)
}

func (s *Sealer) seal(ctx context.Context, purpose string, data []byte) (string, error) {
	bound, err := binding(ctx, purpose)
	if err != nil {
		return "", err
	}
	k := &s.keys[0]
	head := 1 + len(k.id) + k.aead.NonceSize()
	out := make([]byte, head, head+8+len(data)+k.aead.Overhead())
	out[0] = stateVersion
	copy(out[1:], k.id[:])
	nonce := out[1+len(k.id):]
	_, _ = rand.Read(nonce) // never fails
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(data)), uint64(time.Now().Add(s.ttl).Unix()))
	out = k.aead.Seal(out, nonce, append(plain, data...), bound)
	if n := base64.RawURLEncoding.EncodedLen(len(out)); n > maxState {
		return "", fmt.Errorf("a state of %d bytes, more than %d", n, maxState)
	}
	return base64.RawURLEncoding.EncodeToString(out), nil
}

// errState is what the client hears of every state that is not good. It does not
// say why, which would help only who made it up.
func errState(why string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params.requestState: not the state of this request, or expired", Cause: errors.New(why)}
}

func (s *Sealer) open(ctx context.Context, purpose, state string) ([]byte, error) {
	if len(state) > maxState {
		return nil, errState("too long")
	}
	if strings.ContainsAny(state, "\r\n") { // which the decoder skips: a state has one spelling
		return nil, errState("not a sealed state")
	}
	in, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(in) == 0 || in[0] != stateVersion {
		return nil, errState("not a sealed state")
	}
	bound, err := binding(ctx, purpose)
	if err != nil {
		return nil, err
	}
	for i := range s.keys {
		k := &s.keys[i]
		head := 1 + len(k.id) + k.aead.NonceSize()
		if len(in) < head || [4]byte(in[1:5]) != k.id {
			continue
		}
		plain, err := k.aead.Open(nil, in[5:head], in[head:], bound)
		if err != nil || len(plain) < 8 {
			return nil, errState("changed, or another request's")
		}
		if until := binary.BigEndian.Uint64(plain); uint64(time.Now().Unix()) >= until {
			return nil, errState("expired")
		}
		return plain[8:], nil
	}
	return nil, errState("sealed with another key")
}

// binding is what a state belongs to: the principal, the method, and the params
// without what differs between the rounds of one request.
func binding(ctx context.Context, purpose string) ([]byte, error) {
	peer := jsonrpc.PeerOf(ctx)
	if peer.Method() == "" {
		return nil, jsonrpc.ErrNoPeer
	}
	h := sha256.New()
	for _, s := range []string{purpose, jsonrpc.Principal(ctx), peer.Method()} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s))))
		h.Write([]byte(s))
	}
	params := peer.Message().Get("params")
	if params.Kind() == wire.KindObject {
		var d wire.Dec
		d.Reset(params, wire.Options{})
		b, err := canonicalObject(nil, &d, "_meta", "inputResponses", "requestState")
		if err != nil {
			return nil, wire.Under("params", err)
		}
		h.Write(b)
	}
	return h.Sum(nil), nil
}

// canonical appends a value so that two texts of the same value are the same:
// members in order, no spaces, one spelling of strings and of numbers that a
// float64 holds.
func canonical(b []byte, d *wire.Dec) ([]byte, error) {
	switch d.Kind() {
	case wire.KindObject:
		return canonicalObject(b, d)
	case wire.KindArray:
		if err := d.ArrBegin(); err != nil {
			return b, err
		}
		b = append(b, '[')
		for {
			done, err := d.Elem()
			if err != nil {
				return b, err
			}
			if done {
				return append(b, ']'), nil
			}
			if b, err = canonical(b, d); err != nil {
				return b, err
			}
			b = append(b, ',')
		}
	case wire.KindString:
		s, err := d.Str()
		return wire.AppendString(b, s), err
	}
	r, err := d.Raw()
	if r.Kind() == wire.KindNumber {
		return append(b, number(string(r))...), err
	}
	return append(b, r...), err
}

func canonicalObject(b []byte, d *wire.Dec, without ...string) ([]byte, error) {
	if err := d.ObjBegin(); err != nil {
		return b, err
	}
	type member struct{ name, text string }
	var members []member
	for {
		k, done, err := d.Key()
		if err != nil {
			return b, err
		}
		if done {
			break
		}
		name := string(k)
		if slices.Contains(without, name) {
			if _, err := d.Raw(); err != nil {
				return b, err
			}
			continue
		}
		v, err := canonical(nil, d)
		if err != nil {
			return b, err
		}
		if len(v) > 2*sha256.Size { // so that deep nesting does not copy it for each level
			sum := sha256.Sum256(v)
			v = append([]byte("#"), sum[:]...)
		}
		members = append(members, member{name, string(v)})
	}
	slices.SortFunc(members, func(x, y member) int {
		if c := strings.Compare(x.name, y.name); c != 0 {
			return c
		}
		return strings.Compare(x.text, y.text)
	})
	b = append(b, '{')
	for _, m := range members {
		b = append(wire.AppendString(b, m.name), ':')
		b = append(append(b, m.text...), ',')
	}
	return append(b, '}'), nil
}

// number is one spelling for those that mean the same. Those with more digits
// than a float64 keeps apart stay as they are.
func number(s string) string {
	if len(s) > 15 {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f+0, 'g', -1, 64)
}
