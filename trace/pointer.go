package trace

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Pointer gives the string that a JSON Pointer (RFC 6901) finds in a record.
// Of equal names the first counts, as everywhere. ok is false when there is no
// string.
func Pointer(rec Record, pointer string) (text string, ok bool) { return pointed(rec.line, pointer) }

// Pointer gives the string that a JSON Pointer finds on the line, as the
// function of that name does.
func (l Line) Pointer(pointer string) (text string, ok bool) { return pointed(l.Bytes, pointer) }

func pointed(line []byte, pointer string) (text string, ok bool) {
	at := gjson.ParseBytes(line)
	if pointer != "" && pointer[0] != '/' {
		return "", false
	}
	for _, part := range strings.Split(pointer, "/")[1:] {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next, found := child(at, name)
		if !found {
			return "", false
		}
		at = next
	}
	return at.String(), at.Type == gjson.String
}

func child(parent gjson.Result, name string) (found gjson.Result, ok bool) {
	index := -1
	if parent.IsArray() {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || strconv.Itoa(n) != name {
			return found, false
		}
		index = n
	}
	i := 0
	parent.ForEach(func(key, value gjson.Result) bool {
		if index >= 0 && i == index || index < 0 && parent.IsObject() && key.String() == name {
			found, ok = value, true
			return false
		}
		i++
		return true
	})
	return found, ok
}

// Members lists the top-level members of a record in the order of the line,
// repeated names included.
func Members(rec Record) []Member {
	var members []Member
	walkMembers(rec.line, func(name []byte, start, end int) {
		members = append(members, Member{Name: string(name), Value: rec.line[start:end:end]})
	})
	return members
}
