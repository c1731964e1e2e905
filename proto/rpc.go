package proto

import "encoding/json"

// RPCVersion is the value of "jsonrpc" in every frame of the bridge.
const RPCVersion = "2.0"

// Codes of RPCError. A failure with a kind uses CodeFault and says the kind in
// its data; the others are JSON-RPC's own.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeFault          = -32000
)

// RPCMessage is one frame of the bridge: a request (method and id), a
// notification (method only), or a response (id, and result or error).
type RPCMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // number or string, chosen by the sender of the request
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is the failure of one request. Data is always there in an answer of
// tenon's; a host's own failure may come without.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *Error `json:"data,omitempty"`
}

// Done answers a request that has nothing to say.
type Done struct{}
