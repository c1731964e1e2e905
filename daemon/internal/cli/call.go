package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

type callOptions struct {
	app     *app
	server  string
	tool    string
	args    []string
	cwd     string
	timeout time.Duration
	raw     bool
}

func (a *app) callCommand() *cobra.Command {
	o := &callOptions{app: a}
	c := &cobra.Command{
		Use:   "call SERVER TOOL [JSON | - | KEY=VALUE…]",
		Short: "Make one call and print its result",
		Long: "Makes one call. Arguments are one JSON object, - for an object on standard input,\n" +
			"or pairs: KEY=VALUE takes the type that the tool's schema gives the key,\n" +
			"KEY:=JSON is taken as JSON.",
		Example: "  tenon call fake echo text=hello\n  tenon call fake echo '{\"text\": \"hello\"}'",
		Args:    args(2, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			o.server, o.tool, o.args = words[0], words[1], words[2:]
			return callRun(cmd.Context(), o)
		},
	}
	c.Flags().StringVar(&o.cwd, "cwd", "", "`directory` the call is made from; default: this one")
	c.Flags().DurationVar(&o.timeout, "call-timeout", 0, "limit of the call; default: the tool's")
	c.Flags().BoolVar(&o.raw, "raw", false, "print the result as the server sent it")
	return c
}

func callRun(ctx context.Context, o *callOptions) error {
	c, err := o.app.connect()
	if err != nil {
		return err
	}
	arguments, err := o.arguments(ctx)
	if err != nil {
		return err
	}
	var asked func(proto.Frame)
	if c.Identity.Interactive {
		desk := o.app.openDesk(ctx, c)
		defer desk.close()
		asked = desk.frame
	}
	result, err := c.Call(ctx, proto.CallRequest{
		Server: o.server, Tool: o.tool, Arguments: arguments,
		Cwd: o.app.abs(o.cwd), CallTimeoutMS: o.timeout.Milliseconds(), Raw: o.raw,
	}, asked)
	if err != nil {
		return interrupted(ctx, err)
	}
	if o.app.flags.json {
		return o.app.document(result)
	}
	for _, w := range result.Warnings {
		o.app.say("warning: %s (%s)", w.Message, w.Kind)
	}
	if o.raw {
		return o.app.value(result.Raw)
	}
	return o.app.value(result.Value)
}

// arguments reads the words after the tool; nil means none.
func (o *callOptions) arguments(ctx context.Context) (json.RawMessage, error) {
	if len(o.args) == 0 {
		return nil, nil
	}
	if len(o.args) == 1 {
		switch text := strings.TrimSpace(o.args[0]); {
		case text == "-":
			raw, err := o.app.readInput(ctx, "the arguments as a JSON object")
			if err != nil {
				return nil, err
			}
			return object("standard input", raw)
		case strings.HasPrefix(text, "{"), !strings.Contains(text, "="):
			return object("the arguments", []byte(text))
		}
	}
	return o.pairs(ctx)
}

// object checks that text is one JSON object.
func object(what string, text []byte) (json.RawMessage, error) {
	var into map[string]json.RawMessage
	if err := json.Unmarshal(text, &into); err != nil || into == nil {
		return nil, fault.New(fault.UsageError, "%s must be a JSON object, not %s", what, short(string(text), 60)).
			WithHint("write '{\"key\": \"value\"}' or key=value")
	}
	return text, nil
}

// pairs reads KEY=VALUE and KEY:=JSON.
func (o *callOptions) pairs(ctx context.Context) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	var types map[string][]string
	for _, word := range o.args {
		key, text, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.UsageError, "argument %q is neither KEY=VALUE nor JSON", word)
		}
		if name, ok := strings.CutSuffix(key, ":"); ok {
			if !json.Valid([]byte(text)) {
				return nil, fault.New(fault.UsageError, "argument %s is not JSON: %s", name, short(text, 60))
			}
			out[name] = json.RawMessage(text)
			continue
		}
		if !json.Valid([]byte(text)) { // plain text: no schema could make more of it
			out[key] = quote(text)
			continue
		}
		if types == nil {
			types = o.types(ctx)
		}
		out[key] = typed(text, types[key])
	}
	return json.Marshal(out)
}

func quote(text string) json.RawMessage {
	raw, _ := marshal(text) // strings always marshal
	return raw
}

// typed reads a text that is valid JSON as the schema's types want it: as a
// string where they have that and not what the text is; without a known type
// it is taken as JSON.
func typed(text string, kinds []string) json.RawMessage {
	if slices.Contains(kinds, "string") && !slices.ContainsFunc(jsonTypes(text), func(k string) bool { return slices.Contains(kinds, k) }) {
		return quote(text)
	}
	return json.RawMessage(text)
}

// jsonTypes are the names that a schema may have for a JSON text.
func jsonTypes(text string) []string {
	switch strings.TrimSpace(text)[0] {
	case '{':
		return []string{"object"}
	case '[':
		return []string{"array"}
	case '"':
		return nil // its quotes belong to it
	case 't', 'f':
		return []string{"boolean"}
	case 'n':
		return []string{"null"}
	default:
		return []string{"number", "integer"}
	}
}

// types asks the daemon for the types of the tool's parameters; a server that
// was never listed is started for that, which the call would do next.
func (o *callOptions) types(ctx context.Context) map[string][]string {
	out := map[string][]string{}
	server, err := o.app.client.LearntServer(ctx, o.server)
	if err != nil {
		return out // the call itself will say what is wrong
	}
	for _, tool := range server.Tools {
		if tool.Name != o.tool {
			continue
		}
		var schema struct {
			Properties map[string]struct {
				Type any `json:"type"`
			} `json:"properties"`
		}
		if json.Unmarshal(tool.InputSchema, &schema) != nil {
			return out
		}
		for name, p := range schema.Properties {
			switch kind := p.Type.(type) {
			case string:
				out[name] = []string{kind}
			case []any:
				for _, k := range kind {
					out[name] = append(out[name], fmt.Sprint(k))
				}
			}
		}
	}
	return out
}
