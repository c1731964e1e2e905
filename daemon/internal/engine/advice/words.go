package advice

import "strings"

// What V8 says; the other engines' words for the same become these.
const (
	constant      = "Assignment to constant variable."
	stackOverflow = "Maximum call stack size exceeded"
	longString    = "Invalid string length"
	mixedBigInt   = "Cannot mix BigInt and other types, use explicit conversions"
	jsonBigInt    = "Do not know how to serialize a BigInt"
	noIterator    = "(cannot read property Symbol(Symbol.iterator))"
	noneFulfilled = "All promises were rejected"
)

// same are messages of QuickJS and JavaScriptCore for which V8 has one.
var same = map[string]string{
	"Maximum call stack size exceeded.":                  stackOverflow,
	"cannot convert BigInt to number":                    mixedBigInt,
	"cannot convert to BigInt":                           mixedBigInt,
	"Invalid mix of BigInt and other type in addition.":  mixedBigInt,
	"BigInt are forbidden in JSON.stringify":             jsonBigInt,
	"JSON.stringify cannot serialize BigInt.":            jsonBigInt,
	"invalid repeat count":                               "Invalid count value",
	"invalid array length":                               "Invalid array length",
	"Array size is not a small enough positive integer.": "Invalid array length",
}

var (
	calledIn     = once(`(?s)^(.+?) is not a function(?:\. \(In |\.? \(near ).*$`)
	readQuick    = once(`^cannot read property '(.*)' of (undefined|null)$`)
	setQuick     = once(`^cannot set property '(.*)' of (undefined|null)$`)
	notObject    = once(`(?s)^(undefined|null) is not an object \(evaluating '(.*)'\)$`)
	lastPart     = once(`(?:\.([\p{L}_$][\p{L}\p{N}_$]*)|\[([^\[\]]+)\])$`)
	readV8       = once(`^Cannot read properties of (undefined|null) \(reading '(.*)'\)$`)
	readOnly     = once(`^'(.*)' is read-only$|^Attempted to assign to readonly property\.$`)
	notLoaded    = once(`^could not (?:load|normalize) module '(.*)'`)
	invalidMix   = once(`^Invalid mix of BigInt and other type`)
	invalidCount = once(`^Invalid count value: |^String\.prototype\.repeat argument must be`)
	unready      = once(`^(\S+) is not initialized$|^Cannot access '(.+)' before initialization\.?$`)
	destructured = once(`(?i)destructur|^Cannot convert undefined or null to object$`)
)

// words is a message in the words of V8.
func (s spot) words(name, message string) string {
	if other, ok := same[message]; ok {
		return other
	}
	switch name {
	case "ReferenceError":
		if m := unready().FindStringSubmatch(message); m != nil {
			return "Cannot access '" + m[1] + m[2] + "' before initialization"
		}
		if m := notLoaded().FindStringSubmatch(message); m != nil {
			return "the module " + m[1] + " cannot be imported"
		}
		if bare, ok := between(message, "'", "' is not defined"); ok {
			return bare + " is not defined"
		}
	case "RangeError":
		switch {
		case invalidCount().MatchString(message):
			return "Invalid count value"
		case message == "string too long":
			return longString
		}
	case "AggregateError":
		if message == "" || strings.HasPrefix(message, ": ") {
			return noneFulfilled + message
		}
	case "TypeError":
		return s.typeWords(message)
	}
	return message
}

func (s spot) typeWords(message string) string {
	if m := calledIn().FindStringSubmatch(message); m != nil {
		return m[1] + " is not a function"
	}
	if m := readQuick().FindStringSubmatch(message); m != nil && m[1] == "Symbol.iterator" {
		return strings.Replace(m[2], "null", "object null", 1) + " is not iterable " + noIterator
	} else if m != nil {
		return read(m[2], m[1])
	}
	if m := setQuick().FindStringSubmatch(message); m != nil {
		return "Cannot set properties of " + m[2] + " (setting '" + m[1] + "')"
	}
	if m := notObject().FindStringSubmatch(message); m != nil {
		if property := lastPart().FindStringSubmatch(m[2]); property != nil {
			return read(m[1], strings.Trim(property[1]+property[2], `"'`))
		}
	}
	if m := readOnly().FindStringSubmatch(message); m != nil && s.assigns(m[1]) {
		return constant
	}
	switch {
	case message == "not a function":
		if callee := s.callee(); callee != "" {
			return callee + " is not a function"
		}
		if _, rest := s.rest(); s.receiver() != "" {
			return "(intermediate value)." + chainStart().FindString(rest) + " is not a function"
		}
	case strings.HasSuffix(message, " is not iterable"):
		if object := s.iterated(); object != "" {
			return object + " is not iterable"
		}
	case invalidMix().MatchString(message):
		return mixedBigInt
	}
	return message
}

func read(of, property string) string {
	return "Cannot read properties of " + of + " (reading '" + property + "')"
}

// readOf takes apart what read makes.
func readOf(words string) (of, property string, ok bool) {
	m := readV8().FindStringSubmatch(words)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}
