package embedded

import "tenon/proto"

// Version names the engine and the package that its source comes from. The
// generator pins both; a test compares them.
const Version = "QuickJS-NG " + quickjsVersion + " (quickjs-wasi " + packageVersion + ")"

const (
	quickjsVersion = "0.18.0"
	packageVersion = "3.7.0" // in gen/package.json
)

// Info is how the engine is listed. It needs nothing, so it is always available.
func Info() proto.Engine {
	return proto.Engine{Name: engineName, Version: Version, Available: true}
}
