package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// readOptions are those of reading a resource and of getting a prompt.
type readOptions struct {
	app     *app
	server  string
	cwd     string
	timeout time.Duration
	raw     bool
}

func (o *readOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.server, "server", "", "`name` of the server, where several have it; default: the one that has it")
	c.Flags().StringVar(&o.cwd, "cwd", "", "`directory` the server is asked from; default: this one")
	c.Flags().DurationVar(&o.timeout, "call-timeout", 0, "limit of the answer; default: the server's")
	c.Flags().BoolVar(&o.raw, "raw", false, "print the answer as the server sent it")
}

func (a *app) resourcesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resources [SERVER]",
		Short: "List what servers offer to be read, or read it",
		Long: "Lists the resources of all servers, and the templates that make more of them, or of one server.\n" +
			"Servers that were never started are started for that; one that is named is asked itself.",
		Example: "  tenon resources\n  tenon resources docs\n  tenon resources read docs://guide",
		Args:    args(0, 1),
		RunE:    func(cmd *cobra.Command, words []string) error { return resourcesRun(cmd.Context(), a, only(words)) },
	}
	list := &cobra.Command{
		Use: "list [SERVER]", Short: "List resources and templates", Args: args(0, 1),
		RunE: func(cmd *cobra.Command, words []string) error { return resourcesRun(cmd.Context(), a, only(words)) },
	}
	o := &readOptions{app: a}
	read := &cobra.Command{
		Use:   "read URI",
		Short: "Print one resource",
		Long: "Prints a resource: text as it is, JSON indented on a terminal. Bytes go to a file or a pipe as\n" +
			"they are; on a terminal the id of the artifact that holds them is shown.",
		Example: "  tenon resources read docs://guide\n  tenon resources read img://logo --server docs > logo.png",
		Args:    args(1, 1),
		RunE:    func(cmd *cobra.Command, words []string) error { return resourceRead(cmd.Context(), o, words[0]) },
	}
	o.flags(read)
	c.AddCommand(list, read)
	return c
}

func (a *app) promptsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "prompts [SERVER]",
		Short: "List the prompts of servers, or fill one in",
		Long: "Lists the prompts of all servers, or of one, with their arguments; those with a * are required.\n" +
			"Servers that were never started are started for that; one that is named is asked itself.",
		Example: "  tenon prompts\n  tenon prompts get review file=main.go",
		Args:    args(0, 1),
		RunE:    func(cmd *cobra.Command, words []string) error { return promptsRun(cmd.Context(), a, only(words)) },
	}
	list := &cobra.Command{
		Use: "list [SERVER]", Short: "List prompts", Args: args(0, 1),
		RunE: func(cmd *cobra.Command, words []string) error { return promptsRun(cmd.Context(), a, only(words)) },
	}
	o := &readOptions{app: a}
	get := &cobra.Command{
		Use:     "get NAME [KEY=VALUE…]",
		Short:   "Print one prompt, filled in",
		Long:    "Prints the messages of a prompt. Arguments of prompts are texts: KEY=VALUE.",
		Example: "  tenon prompts get review file=main.go\n  tenon prompts get review file=main.go --server docs --json",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			return promptGet(cmd.Context(), o, words[0], words[1:])
		},
	}
	o.flags(get)
	c.AddCommand(list, get)
	return c
}

// only is the one word there may be.
func only(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// pages calls list for one page after the other.
func pages(list func(cursor string) (next string, err error)) error {
	for cursor := ""; ; {
		next, err := list(cursor)
		if err != nil || next == "" {
			return err
		}
		cursor = next
	}
}

func (a *app) offerProblems(problems []proto.OfferProblem) {
	told := map[proto.OfferProblem]bool{}
	for _, p := range problems {
		if !told[p] {
			told[p] = true
			a.say("%s: %s", p.Server, p.Message)
		}
	}
}

func resourcesRun(ctx context.Context, a *app, server string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	var out struct {
		Resources []proto.Resource         `json:"resources"`
		Templates []proto.ResourceTemplate `json:"resourceTemplates"`
		Problems  []proto.OfferProblem     `json:"problems"`
	}
	out.Resources, out.Templates, out.Problems = []proto.Resource{}, []proto.ResourceTemplate{}, []proto.OfferProblem{}
	err = pages(func(cursor string) (string, error) {
		page, err := c.Resources(ctx, proto.OfferQuery{Server: server, Cursor: cursor})
		out.Resources = append(out.Resources, page.Resources...)
		out.Problems = append(out.Problems, page.Problems...)
		return page.NextCursor, err
	})
	if err == nil {
		err = pages(func(cursor string) (string, error) {
			page, err := c.Templates(ctx, proto.OfferQuery{Server: server, Cursor: cursor})
			out.Templates = append(out.Templates, page.ResourceTemplates...)
			out.Problems = append(out.Problems, page.Problems...)
			return page.NextCursor, err
		})
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(out)
	}
	a.offerProblems(out.Problems)
	if len(out.Resources)+len(out.Templates) == 0 {
		a.say("no server here offers resources")
		return nil
	}
	table := [][]string{{"RESOURCE", "SERVER", "TYPE", "DESCRIPTION"}}
	for _, r := range out.Resources {
		table = append(table, []string{r.URI, r.Server, dash(r.MimeType), short(first(r.Description, first(r.Title, r.Name)), 80)})
	}
	for _, t := range out.Templates {
		table = append(table, []string{t.URITemplate, t.Server, dash(t.MimeType), short(first(t.Description, first(t.Title, t.Name)), 80)})
	}
	return a.table(table)
}

func promptsRun(ctx context.Context, a *app, server string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	out := proto.Prompts{}
	err = pages(func(cursor string) (string, error) {
		page, err := c.Prompts(ctx, proto.OfferQuery{Server: server, Cursor: cursor})
		out.Prompts = append(out.Prompts, page.Prompts...)
		out.Problems = append(out.Problems, page.Problems...)
		return page.NextCursor, err
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(out)
	}
	a.offerProblems(out.Problems)
	if len(out.Prompts) == 0 {
		a.say("no server here offers prompts")
		return nil
	}
	table := [][]string{{"PROMPT", "SERVER", "ARGUMENTS", "DESCRIPTION"}}
	for _, p := range out.Prompts {
		var words []string
		for _, arg := range p.Arguments {
			if arg.Required {
				arg.Name += "*"
			}
			words = append(words, arg.Name)
		}
		table = append(table, []string{p.Name, p.Server, dash(strings.Join(words, ", ")), short(first(p.Description, p.Title), 80)})
	}
	return a.table(table)
}

// ask makes a call with whoever answers questions here, and prints warnings.
func (o *readOptions) ask(ctx context.Context, call func(asked func(proto.Frame)) (*proto.CallResult, error)) (*proto.CallResult, error) {
	var asked func(proto.Frame)
	if o.app.client.Identity.Interactive {
		desk := o.app.openDesk(ctx, o.app.client)
		defer desk.close()
		asked = desk.frame
	}
	result, err := call(asked)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if !o.app.flags.json {
		for _, w := range result.Warnings {
			o.app.say("warning: %s (%s)", w.Message, w.Kind)
		}
	}
	return result, nil
}

func resourceRead(ctx context.Context, o *readOptions, uri string) error {
	c, err := o.app.connect()
	if err != nil {
		return err
	}
	result, err := o.ask(ctx, func(asked func(proto.Frame)) (*proto.CallResult, error) {
		return c.ReadResource(ctx, proto.ResourceRead{
			URI: uri, Server: o.server, Raw: o.raw || !o.app.flags.json, Cwd: o.app.abs(o.cwd), CallTimeoutMS: o.timeout.Milliseconds(),
		}, asked)
	})
	switch {
	case err != nil:
		return err
	case o.app.flags.json:
		return o.app.document(result)
	case o.raw:
		return o.app.value(result.Raw)
	}
	if data, ok := onlyBytes(result.Raw); ok && !o.app.outTerminal {
		return o.app.write(data)
	}
	return o.app.value(result.Value)
}

// onlyBytes are the bytes of a resource that is nothing else.
func onlyBytes(raw json.RawMessage) ([]byte, bool) {
	var answer struct {
		Contents []struct {
			Blob *string `json:"blob"`
		} `json:"contents"`
	}
	if json.Unmarshal(raw, &answer) != nil || len(answer.Contents) != 1 || answer.Contents[0].Blob == nil {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(*answer.Contents[0].Blob)
	return data, err == nil
}

func promptGet(ctx context.Context, o *readOptions, name string, pairs []string) error {
	c, err := o.app.connect()
	if err != nil {
		return err
	}
	given := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fault.New(fault.UsageError, "argument %q is not KEY=VALUE", pair)
		}
		given[key] = value
	}
	arguments, err := marshal(given)
	if err != nil {
		return err
	}
	result, err := o.ask(ctx, func(asked func(proto.Frame)) (*proto.CallResult, error) {
		return c.GetPrompt(ctx, proto.PromptGet{
			Name: name, Arguments: arguments, Server: o.server, Raw: o.raw, Cwd: o.app.abs(o.cwd), CallTimeoutMS: o.timeout.Milliseconds(),
		}, asked)
	})
	switch {
	case err != nil:
		return err
	case o.app.flags.json:
		return o.app.document(result)
	case o.raw:
		return o.app.value(result.Raw)
	}
	return o.app.text(promptText(result.Value))
}

// promptText are the messages of a prompt for a reader: of several each says whose
// it is, and what is no text stands as JSON.
func promptText(value json.RawMessage) string {
	var prompt struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(value, &prompt) != nil {
		return string(value)
	}
	var parts []string
	for _, m := range prompt.Messages {
		var block struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		text := string(m.Content)
		if json.Unmarshal(m.Content, &block) == nil && block.Type == "text" {
			text = block.Text
		}
		if len(prompt.Messages) > 1 {
			text = m.Role + ":\n" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}
