package bridge

import (
	"testing"

	"tenon/proto"
)

func FuzzFramesOfAPlugin(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"bridge/hello","params":{}}`,
		`{"jsonrpc":"2.0","id":"a","method":"run/start","params":{"origin":{"session":"s"},"directory":"/","code":"1","text":{}}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`,
		`[]`, `{`, "\xff", `{"jsonrpc":"2.0","id":1.5}`, `{"jsonrpc":"2.0","id":null,"method":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m proto.RPCMessage
		if proto.Decode(data, &m) != nil {
			return
		}
		protocolOf(m.Params)
		buildOf(m.Params)
		if h := handlers[m.Method]; h != nil {
			for _, into := range []any{&proto.Attach{}, &proto.RunStart{}, &proto.CallStart{}, &proto.RulesChanged{}} {
				_ = proto.Decode(m.Params, into) // must not panic
			}
		}
		if _, err := encode(m); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
