package signature

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// object is a JSON object whose members keep their order.
type object []pair

type pair struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		out.WriteString(quote(p.name))
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (o object) get(name string) any {
	for _, p := range o {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

func kindOf(name string) object { return object{{"type", name}} }

// quote is text as JSON, with nothing escaped for HTML.
func quote(text string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // texts always encode
	return strings.TrimSuffix(out.String(), "\n")
}

// numberLiteral is a number as JSON has it; anything when it is not certain.
func numberLiteral(written, sign string) *typ {
	plain := strings.ReplaceAll(written, "_", "")
	if n, ok := strings.CutSuffix(plain, "n"); ok { // a bigint
		plain = n
	}
	if json.Valid([]byte(sign + plain)) {
		return &typ{form: literal, json: sign + plain}
	}
	if n, ok := new(big.Int).SetString(plain, 0); ok && len(plain) > 2 && plain[0] == '0' {
		return &typ{form: literal, json: sign + n.String()}
	}
	if f, err := strconv.ParseFloat(plain, 64); err == nil && (plain[0] != '0' || len(plain) > 1 && plain[1] == '.') {
		return &typ{form: literal, json: sign + strconv.FormatFloat(f, 'g', -1, 64)}
	}
	return anything
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// inferred is the type of a parameter whose default value is this JSON.
func inferred(initial string) object {
	switch {
	case initial == "true" || initial == "false":
		return kindOf("boolean")
	case strings.HasPrefix(initial, `"`):
		return kindOf("string")
	case initial == "[]":
		return kindOf("array")
	case initial != "" && (initial[0] == '-' || isDigit(initial[0])):
		return kindOf("number")
	}
	return nil
}
