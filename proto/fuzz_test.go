package proto

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// FuzzDecode: what a schema lets pass can be written and read again, and is the
// same then; a refusal names a field and no more.
func FuzzDecode(f *testing.F) {
	names := slices.Sorted(maps.Keys(goTypes))
	for name, messages := range fixtures(f) {
		at, ok := slices.BinarySearch(names, name)
		for _, one := range messages {
			if ok {
				f.Add(uint16(at), []byte(one))
			}
		}
	}
	for _, odd := range []string{`null`, `[]`, `{"id":1e400}`, `{"a":1,"a":2}`, "{\"\\u0069d\":1}", `{"ID":"x"}`, ` {} `, "\"\xff\""} {
		f.Add(uint16(0), []byte(odd))
	}
	f.Fuzz(func(t *testing.T, which uint16, data []byte) {
		name := names[int(which)%len(names)]
		first := reflect.New(goTypes[name])
		if err := Decode(data, first.Interface()); err != nil {
			var bad *FieldError
			if !errors.As(err, &bad) || bad.Problem == "" || len(bad.Error()) > 4*len(data)+500 {
				t.Fatalf("%s: %v", name, err)
			}
			return
		}
		once, err := Marshal(first.Interface())
		if err != nil {
			t.Fatalf("%s: what was read cannot be written: %v", name, err)
		}
		if bytes.IndexByte(once, '\n') >= 0 {
			t.Fatalf("%s: more than a line: %q", name, once)
		}
		second := reflect.New(goTypes[name])
		if err := Decode(once, second.Interface()); err != nil {
			t.Fatalf("%s: what was written cannot be read: %v\n%s", name, err, once)
		}
		twice, err := Marshal(second.Interface())
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: written %s, then %s, %v", name, once, twice, err)
		}
	})
}
