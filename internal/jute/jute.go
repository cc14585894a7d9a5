// Package jute reads and writes ZooKeeper's wire format: big-endian numbers, strings, buffers and vectors
// with a 32-bit length in front (-1 for null), packed into records, one record or two to a frame.
//
// Nothing that is decoded is trusted: a length is used only once that many bytes are there, so a
// packet of n bytes never costs more than a small multiple of n bytes of memory.
package jute

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

func (d *Decoder) Int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

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
	return bytes.Clone(d.take(int(n)))
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

func (e *Encoder) Len() int { return len(e.buf) }

// Reset empties the Encoder and keeps its memory.
func (e *Encoder) Reset() { e.buf = e.buf[:0] }

// Truncate drops all but the first n bytes.
func (e *Encoder) Truncate(n int) { e.buf = e.buf[:n] }

// Raw appends b as it is: a record that was encoded before.
func (e *Encoder) Raw(b []byte) { e.buf = append(e.buf, b...) }

func (e *Encoder) Bool(v bool) {
	if v {
		e.buf = append(e.buf, 1)
	} else {
		e.buf = append(e.buf, 0)
	}
}

func (e *Encoder) Int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }

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

func (e *Encoder) String(s string) {
	e.Int32(int32(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *Encoder) Strings(ss []string) {
	e.Int32(int32(len(ss)))
	for _, s := range ss {
		e.String(s)
	}
}

// Take removes the first n bytes and returns them. The rest, and what is written from now on, goes into the memory of
// spare, so that the bytes can be sent meanwhile.
func (e *Encoder) Take(n int, spare []byte) []byte {
	taken := e.buf[:n]
	e.buf = append(spare[:0], e.buf[n:]...)
	return taken
}

// MaxFrame is the longest packet that a ZooKeeper server reads
// (jute.maxbuffer), in bytes, the four of its length not counted.
const MaxFrame = 0xfffff

// frameStep is how much memory a frame gets before its bytes have come: a
// peer that announces much and sends little must not cost much.
const frameStep = 64 << 10

// ReadFrame reads one packet, a 32-bit length and as many bytes, into the memory of buf if that is large enough. A
// length that is negative or above limit is an error that wraps ErrMalformed; the stream cannot be read on then.
func ReadFrame(r io.Reader, buf []byte, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	return ReadFrameBody(r, buf, int32(binary.BigEndian.Uint32(head[:])), limit)
}

// ReadFrameBody is ReadFrame for a length that has been read already.
func ReadFrameBody(r io.Reader, buf []byte, length int32, limit int) ([]byte, error) {
	if length < 0 || int(length) > limit {
		return nil, fmt.Errorf("%w: packet of %d bytes, at most %d allowed", ErrMalformed, length, limit)
	}
	n := int(length)
	buf = buf[:0]
	for len(buf) < n {
		have := len(buf)
		step := min(n-have, max(cap(buf)-have, frameStep)) // first what buf has room for, and then frameStep at a time
		if have+step > cap(buf) {
			buf = append(buf, make([]byte, step)...)
		} else {
			buf = buf[:have+step]
		}
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return buf, nil
}

// Frame writes one packet that has these records.
func (e *Encoder) Frame(records ...interface{ Encode(*Encoder) }) {
	mark := e.BeginFrame()
	for _, r := range records {
		r.Encode(e)
	}
	e.EndFrame(mark)
}

// ReadRecord reads one packet, and the record that it begins with.
func ReadRecord(r io.Reader, record interface{ Decode(*Decoder) }) error {
	frame, err := ReadFrame(r, nil, MaxFrame)
	if err != nil {
		return err
	}
	d := NewDecoder(frame)
	record.Decode(d)
	return d.Err()
}

// BeginFrame leaves room for a packet's length and returns the mark that EndFrame needs.
func (e *Encoder) BeginFrame() (mark int) {
	mark = len(e.buf)
	e.Int32(0)
	return mark
}

// EndFrame writes the length of all that was written since BeginFrame.
func (e *Encoder) EndFrame(mark int) {
	binary.BigEndian.PutUint32(e.buf[mark:], uint32(len(e.buf)-mark-4))
}
