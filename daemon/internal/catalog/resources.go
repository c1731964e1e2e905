package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yosida95/uritemplate/v3"

	"tenon/daemon/internal/local"
)

// Kind is one kind of what servers offer besides tools.
type Kind string

// The kinds.
const (
	Resources Kind = "resources"
	Templates Kind = "templates"
	Prompts   Kind = "prompts"
)

// Hello is what a server says of itself when it starts.
type Hello struct {
	Name         string          `json:"name,omitempty"`
	Version      string          `json:"version,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"` // byte for byte
}

// Can reports whether a server declares a capability, such as "resources", or a
// feature of one, such as "resources.subscribe".
func (h Hello) Can(capability string) bool {
	name, feature, deeper := strings.Cut(capability, ".")
	var all map[string]json.RawMessage
	_ = json.Unmarshal(h.Capabilities, &all) // what cannot be read declares nothing
	own, ok := all[name]
	if !ok || string(own) == "null" || !deeper {
		return ok && string(own) != "null"
	}
	var features map[string]json.RawMessage
	_ = json.Unmarshal(own, &features) // as above
	return string(features[feature]) == "true"
}

// Offers reports whether a server has entries of a kind at all.
func (h Hello) Offers(k Kind) bool {
	if k == Prompts {
		return h.Can("prompts")
	}
	return h.Can("resources")
}

// Offered is one resource, template or prompt.
type Offered struct {
	Key string // its URI, URI template or name
	Raw json.RawMessage
}

// OfferedList is an immutable list of one kind, in the server's order.
type OfferedList struct {
	List        []Offered
	Cut         string // why the list is not whole; empty: it is
	Fingerprint string // digest of the list, its order included
}

// NewOfferedList makes a list.
func NewOfferedList(list []Offered, cut string) *OfferedList {
	sum := sha256.New()
	for _, e := range list {
		sum.Write(e.Raw)
		sum.Write([]byte{'\n'})
	}
	return &OfferedList{List: list, Cut: cut, Fingerprint: hex.EncodeToString(sum.Sum([]byte(cut))[:12])}
}

// Has reports whether the list has an entry of that key.
func (l *OfferedList) Has(key string) bool {
	return l != nil && slices.ContainsFunc(l.List, func(e Offered) bool { return e.Key == key })
}

// maxTemplate bounds a template that is compared with URIs, and such a URI.
const maxTemplate = 4 << 10

// Fits reports whether one of the list's templates makes that URI.
func (l *OfferedList) Fits(uri string) bool {
	if l == nil || len(uri) > maxTemplate {
		return false
	}
	return slices.ContainsFunc(l.List, func(e Offered) bool {
		if len(e.Key) > maxTemplate {
			return false
		}
		t, err := uritemplate.New(e.Key)
		return err == nil && t.Regexp().MatchString(uri)
	})
}

// Offer is what is known of a server besides its tools. It never changes.
type Offer struct {
	Hello Hello
	lists map[Kind]*OfferedList
}

// List is the newest list of a kind; nil: it was never read.
func (o *Offer) List(k Kind) *OfferedList {
	if o == nil {
		return nil
	}
	return o.lists[k]
}

// Fingerprint is a digest of the lists of one kind, or of two: resources come
// with their templates.
func (o *Offer) Fingerprint(k Kind) string {
	if o == nil {
		return ""
	}
	text := ""
	if l := o.lists[k]; l != nil {
		text = l.Fingerprint
	}
	if l := o.lists[Templates]; l != nil && k == Resources {
		text += l.Fingerprint
	}
	return text
}

// Also says what a server offers besides tools, as it stands behind the number of
// its tools in a catalogue, with how a program lists it: "; 12 resources, 3
// prompts (resources.list({server: "docs"}))". A list that was never read has no
// number. Empty when nothing is offered, or nothing known.
func Also(server string, o *Offer) string {
	if o == nil {
		return ""
	}
	var all []string
	list := ""
	for _, k := range []Kind{Resources, Templates, Prompts} {
		text := ""
		switch l := o.List(k); {
		case l == nil && k != Templates && o.Hello.Offers(k):
			text = string(k)
		case l == nil || len(l.List) == 0:
			continue
		case len(l.List) == 1:
			text = "1 " + strings.TrimSuffix(string(k), "s")
		default:
			text = strconv.Itoa(len(l.List)) + " " + string(k)
		}
		if l := o.List(k); l != nil && l.Cut != "" {
			text = "over " + text
		}
		all = append(all, text)
		if list == "" {
			list = map[Kind]string{Resources: "resources.list", Templates: "resources.templates", Prompts: "prompts.list"}[k]
		}
	}
	if all == nil {
		return ""
	}
	return "; " + strings.Join(all, ", ") + " (" + list + "({server: " + strconv.Quote(server) + "}))"
}

// offers are the offers of all definitions.
type offers struct {
	mu    sync.Mutex
	known map[string]*Offer // by definition id; nil entry: looked up on disk, none there
}

// Offer is what is known of a definition's servers, in this daemon's life or an
// earlier one; nil: none was ever started.
func (c *Catalog) Offer(definition string) *Offer {
	c.offers.mu.Lock()
	o, ok := c.offers.known[definition]
	c.offers.mu.Unlock()
	if ok {
		return o
	}
	o = c.readOffer(definition)
	c.offers.mu.Lock()
	defer c.offers.mu.Unlock()
	if now, ok := c.offers.known[definition]; ok {
		return now
	}
	if c.offers.known == nil {
		c.offers.known = map[string]*Offer{}
	}
	c.offers.known[definition] = o
	return o
}

// Meet takes in what a started server says of itself.
func (c *Catalog) Meet(definition string, h Hello) {
	c.changeOffer(definition, false, func(o *Offer) bool {
		same := o.Hello.Name == h.Name && o.Hello.Version == h.Version && o.Hello.Instructions == h.Instructions &&
			string(o.Hello.Capabilities) == string(h.Capabilities)
		o.Hello = h
		return !same
	})
}

// LearnOffered takes in a list of one kind.
func (c *Catalog) LearnOffered(definition string, k Kind, l *OfferedList) {
	c.changeOffer(definition, true, func(o *Offer) bool {
		before := o.lists[k]
		if before != nil && before.Fingerprint == l.Fingerprint {
			return false
		}
		lists := map[Kind]*OfferedList{k: l}
		for kind, list := range o.lists {
			if kind != k {
				lists[kind] = list
			}
		}
		o.lists = lists
		return true
	})
}

// changeOffer replaces an offer and writes it, if change says so; tell is for what
// a caller could see.
func (c *Catalog) changeOffer(definition string, tell bool, change func(o *Offer) bool) {
	c.Offer(definition) // from now on it is known, if only as nothing
	c.offers.mu.Lock()
	next := Offer{}
	if o := c.offers.known[definition]; o != nil {
		next = *o
	}
	if !change(&next) {
		c.offers.mu.Unlock()
		return
	}
	c.offers.known[definition] = &next
	c.offers.mu.Unlock()
	c.writeOffer(definition, &next)
	if !tell {
		return
	}
	c.mu.RLock()
	listeners := c.onChange
	c.mu.RUnlock()
	for _, f := range listeners {
		f(definition)
	}
}

// storedOffer is one file beside the base list.
type storedOffer struct {
	Format int                      `json:"format"`
	Hello  Hello                    `json:"hello"`
	Lists  map[Kind]json.RawMessage `json:"lists"`
	Keys   map[Kind][]string        `json:"keys"`
	Cut    map[Kind]string          `json:"cut,omitempty"`
}

// maxStored bounds a list that is kept on disk, in bytes; the server of a longer
// one is asked again.
const maxStored = 1 << 20

// offerFile has a name that no definition's base list can have: ids have no
// comma.
func (c *Catalog) offerFile(definition string) (string, bool) {
	if c.dir == "" || !plainID(definition) {
		return "", false
	}
	return filepath.Join(c.dir, definition+",offer.json"), true
}

func (c *Catalog) readOffer(definition string) *Offer {
	path, ok := c.offerFile(definition)
	if !ok {
		return nil
	}
	data, err := local.ReadRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s storedOffer
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil || s.Format != storedFormat {
		c.log.Warn("persisted offer of a server ignored", "file", path, "error", err)
		return nil
	}
	o := &Offer{Hello: s.Hello, lists: map[Kind]*OfferedList{}}
	for k, text := range s.Lists {
		var raw []json.RawMessage
		if json.Unmarshal(text, &raw) != nil || len(raw) != len(s.Keys[k]) {
			continue
		}
		list := make([]Offered, len(raw))
		for i := range raw {
			list[i] = Offered{s.Keys[k][i], raw[i]}
		}
		o.lists[k] = NewOfferedList(list, s.Cut[k])
	}
	return o
}

// writeOffer persists an offer; a failure costs only the memory of it.
func (c *Catalog) writeOffer(definition string, o *Offer) {
	path, ok := c.offerFile(definition)
	if !ok {
		return
	}
	s := storedOffer{Format: storedFormat, Hello: o.Hello, Lists: map[Kind]json.RawMessage{}, Keys: map[Kind][]string{}, Cut: map[Kind]string{}}
	for k, l := range o.lists {
		raw, keys := make([]json.RawMessage, len(l.List)), make([]string, len(l.List))
		for i, e := range l.List {
			raw[i], keys[i] = e.Raw, e.Key
		}
		text, err := json.Marshal(raw)
		if err != nil || len(text) > maxStored {
			continue
		}
		s.Lists[k], s.Keys[k] = text, keys
		if l.Cut != "" {
			s.Cut[k] = l.Cut
		}
	}
	data, err := json.Marshal(s)
	if err == nil {
		if data = []byte(c.plain(string(data))); !json.Valid(data) {
			err = errors.New("it cannot be kept without a secret in it")
		}
	}
	if err == nil {
		err = replace(path, data)
	}
	if err != nil {
		c.log.Warn("offer of a server not persisted", "file", path, "error", err)
	}
}
