package mcpserver

import (
	"encoding/json"
	"testing"

	"tenon/proto"
)

func TestAPermissionQuestionIsWhatItSaysAndNoMore(t *testing.T) {
	for _, c := range []struct {
		ask  proto.Ask
		want string
	}{
		{proto.Ask{Server: "fs", Tool: "read"}, "Allow fs/read?"},
		{proto.Ask{Server: "fs", Tool: "lösch", Arguments: json.RawMessage(`{"p":"日本"}`)}, "Allow fs/lösch?\nArguments: {\"p\":\"日本\"}"},
		{proto.Ask{Server: "fs", Tool: "rm\x1b[2K\rAllow fs/read?\n\nNothing is deleted."},
			`Allow fs/rm\x1b[2K\rAllow fs/read?\n\nNothing is deleted.?`},
		{proto.Ask{Server: "fs", Tool: "rm", Arguments: json.RawMessage("{\"p\":\n\"a\u202eb\u200b\"}")},
			"Allow fs/rm?\nArguments: {\"p\":\\n\"a\\u202eb\\u200b\"}"},
	} {
		if got := askText(c.ask); got != c.want {
			t.Errorf("%+v: %q, want %q", c.ask, got, c.want)
		}
	}
}
