// Package jute reads and writes ZooKeeper's wire format: big-endian numbers, strings, buffers and vectors
// with a 32-bit length in front (-1 for null), packed into records, one record or two to a frame.
//
// Nothing that is decoded is trusted: a length is used only once that many bytes are there, so a
// packet of n bytes never costs more than a small multiple of n bytes of memory.
package jute

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// ErrMalformed says that bytes do not form the record they should be: they
// end too early, or announce a length that cannot be.
var ErrMalformed = errors.New("jute: malformed record")

// A Decoder reads values from the front of a byte slice. After the first failure every call returns
// a zero value, so that a whole record can be read before Err is asked.
type Decoder struct {
	rest []byte
	err  error
}

// NewDecoder returns a Decoder that reads b. What it returns never aliases b.
func NewDecoder(b []byte) *Decoder { return &Decoder{rest: b} }

// Err is nil, or ErrMalformed once any read has failed.
func (d *Decoder) Err() error { return d.err }

// Len is the number of bytes that have not been read.
func (d *Decoder) Len() int { return len(d.rest) }

func (d *Decoder) fail() { d.err, d.rest = ErrMalformed, nil }

// take returns the next n bytes, aliasing the input, or nil after a failure.
func (d *Decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// Bool reads one byte; anything but 0 is true, as in Java.
func (d *Decoder) Bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// Int32 reads a number of four bytes.
func (d *Decoder) Int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads a number of eight bytes.
func (d *Decoder) Int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Buffer reads bytes. Null gives nil; empty gives a slice that is not nil.
func (d *Decoder) Buffer() []byte {
	n := d.Int32()
	if n == -1 || d.err != nil {
		return nil
	}
	b := d.take(int(n))
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, n), b...)
}

// NullString reads a string; ok is false for null. Bytes that are not UTF-8 read as U+FFFD, as in Java.
func (d *Decoder) NullString() (s string, ok bool) {
	n := d.Int32()
	if n == -1 || d.err != nil {
		return "", false
	}
	s = string(d.take(int(n)))
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return s, d.err == nil
}

// String reads a string that may not be null.
func (d *Decoder) String() string {
	s, ok := d.NullString()
	if !ok {
		d.fail()
	}
	return s
}

// vector calls read once for each element of a vector. A negative length counts as none, as in Java.
func (d *Decoder) vector(read func()) {
	for n := d.Int32(); n > 0 && d.err == nil; n-- {
		read()
	}
}

// Strings reads a vector of strings.
func (d *Decoder) Strings() []string {
	var ss []string
	d.vector(func() { ss = append(ss, d.String()) })
	return ss
}

// notNullStrings reads a vector of strings that may not be null.
func (d *Decoder) notNullStrings() []string {
	if len(d.rest) >= 4 && int32(binary.BigEndian.Uint32(d.rest)) == -1 {
		d.fail()
	}
	return d.Strings()
}

// An Encoder appends values to a byte slice. The zero value is ready to use.
type Encoder struct{ buf []byte }

// Bytes is all that was written. It stays valid until the next Reset.
func (e *Encoder) Bytes() []byte { return e.buf }

// Len is the number of bytes written.
func (e *Encoder) Len() int { return len(e.buf) }

// Reset empties the Encoder and keeps its memory.
func (e *Encoder) Reset() { e.buf = e.buf[:0] }

// Truncate drops all but the first n bytes.
func (e *Encoder) Truncate(n int) { e.buf = e.buf[:n] }

// Raw appends b as it is: a record that was encoded before.
func (e *Encoder) Raw(b []byte) { e.buf = append(e.buf, b...) }

// Bool writes one byte.
func (e *Encoder) Bool(v bool) {
	if v {
		e.buf = append(e.buf, 1)
	} else {
		e.buf = append(e.buf, 0)
	}
}

// Int32 writes four bytes.
func (e *Encoder) Int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }

// Int64 writes eight bytes.
func (e *Encoder) Int64(v int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v)) }

// Buffer writes bytes, and null for a nil slice.
func (e *Encoder) Buffer(b []byte) {
	if b == nil {
		e.Int32(-1)
		return
	}
	e.Int32(int32(len(b)))
	e.Raw(b)
}

// String writes a string.
func (e *Encoder) String(s string) {
	e.Int32(int32(len(s)))
	e.buf = append(e.buf, s...)
}

// Strings writes a vector of strings.
func (e *Encoder) Strings(ss []string) {
	e.Int32(int32(len(ss)))
	for _, s := range ss {
		e.String(s)
	}
}

// Take removes the first n bytes and returns them. The rest, and what is
// written from now on, goes into the memory of spare.
func (e *Encoder) Take(n int, spare []byte) []byte {
	taken := e.buf[:n]
	e.buf = append(spare[:0], e.buf[n:]...)
	return taken
}
