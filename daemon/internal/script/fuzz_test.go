package script

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// FuzzFrame: a helper that says anything costs no more memory than it sent, and
// what we write is what is read.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x30{\"program\":{\"code\":\"1\",\"mappings\":\"AAAA;;\"}}"))
	f.Add([]byte("\x03\xff\xff\xff{"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r response
		if err := readFrame(bytes.NewReader(raw), &r); err != nil {
			return
		}
		if size := binary.BigEndian.Uint32(raw); int(size) > len(raw)-4 {
			t.Fatalf("a frame of %d bytes was read of %d", size, len(raw)-4)
		}
		var again bytes.Buffer
		if err := writeFrame(&again, r); err != nil {
			t.Fatal(err)
		}
		var back response
		if err := readFrame(&again, &back); err != nil {
			t.Fatal(err)
		}
		one, _ := json.Marshal(r)
		two, _ := json.Marshal(back)
		if !bytes.Equal(one, two) {
			t.Fatalf("%s came back as %s", one, two)
		}
	})
}

// FuzzSourceMap: whatever a map and a stack say, a place is one of a source that
// the map names, and the frames are bounded.
func FuzzSourceMap(f *testing.F) {
	f.Add("AAAA,IAAM,CAAC;AACA", "    at f (program:2:3)\n    at program:1:1", 1, 1, 0, 0)
	f.Add("AADD;;gggggggggggggggggggB,zzzz", "at main (program:99999999999999999999:1)", 0, -5, 3, 100)
	f.Add("", "", -1, 1<<40, 1, 1)
	f.Fuzz(func(t *testing.T, mappings, stack string, line, column, above, skip int) {
		text, err := json.Marshal(map[string]any{"version": 3, "sources": []string{"a.ts", "b.ts"}, "mappings": mappings})
		if err != nil {
			t.Fatal(err)
		}
		m, err := ReadMap(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.segments) > len(mappings) {
			t.Fatalf("%d segments of %d bytes", len(m.segments), len(mappings))
		}
		if file, _, ok := m.Place(line, column); ok && file != "a.ts" && file != "b.ts" {
			t.Fatalf("%q", file)
		}
		_, _ = ReadMap([]byte(mappings)) // as it may arrive
		p := &Program{Mappings: mappings, Above: above, Skip: skip, Sources: []string{"", "b.ts"}, Edits: []Edit{{Line: line, Column: column, Old: skip, New: above}}}
		frames := p.Frames(stack, "program")
		if len(frames) > maxFrames {
			t.Fatalf("%d frames", len(frames))
		}
		for _, at := range frames {
			if at.File != "" && at.File != "b.ts" {
				t.Fatalf("%+v", at)
			}
		}
	})
}
