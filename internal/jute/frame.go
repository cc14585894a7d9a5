package jute

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MaxFrame is the longest packet that a ZooKeeper server reads
// (jute.maxbuffer), in bytes, the four of its length not counted.
const MaxFrame = 0xfffff

// frameStep is how much memory a frame gets before its bytes have come: a
// peer that announces much and sends little must not cost much.
const frameStep = 64 << 10

// ReadFrame reads one packet, a 32-bit length and as many bytes, into the
// memory of buf if that is large enough. A length that is negative or above
// limit is an error that wraps ErrMalformed; the stream cannot be read on then.
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
		step := min(n-have, max(cap(buf)-have, frameStep))
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
