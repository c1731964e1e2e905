package api

import (
	"reflect"
	"strings"

	"tenon/daemon/internal/catalog"
)

// nearestField finds the field of v's type that an unknown name was probably
// meant to be; empty when none is near, or the name is known (missing fields).
func nearestField(path string, v any) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	var names []string
	collect(reflect.TypeOf(v), 0, &names)
	for _, n := range names {
		if n == name {
			return ""
		}
	}
	if near := catalog.Nearest(name, names, 1); len(near) == 1 {
		return near[0]
	}
	return ""
}

// collect lists the JSON names of a type, three levels deep.
func collect(t reflect.Type, depth int, names *[]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth > 2 {
		return
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			*names = append(*names, name)
		}
		collect(t.Field(i).Type, depth+1, names)
	}
}
