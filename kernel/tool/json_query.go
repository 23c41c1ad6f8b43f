package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/tidwall/gjson"
)

type jsonQueryArgs struct {
	JSON string `json:"json" jsonschema:"the JSON text to look into"`
	Path string `json:"path" jsonschema:"GJSON path, such as users.0.name, users.#.name, users.#(age>30)#.name or {name,age}"`
}

const (
	maxQueried   = 256 << 10
	maxQueryPath = 256
)

func jsonQuery() kernel.Tool {
	return Func("json_query",
		"Get values out of a JSON text with a GJSON path: a.b for members, a.0 for elements, a.#.b for a member of each, a.# for the length, #(x==\"y\") for the first match, #(...)# for all. "+
			"Modifiers: "+strings.Join(allowedModifiers(), " ")+".",
		kernel.EffectNone,
		func(_ context.Context, a jsonQueryArgs) (kernel.ToolResult, error) { return query(a) },
		length("json", 1, maxQueried), length("path", 1, maxQueryPath))
}

// allowedModifiers never give more than they take. Others do: @tostr doubles
// backslashes each time it is applied, @dig and @group repeat what is nested.
func allowedModifiers() []string {
	return []string{"@this", "@reverse", "@ugly", "@flatten", "@keys", "@values"}
}

func query(a jsonQueryArgs) (kernel.ToolResult, error) {
	if len(a.JSON) > maxQueried {
		return kernel.ToolResult{}, fmt.Errorf("json is larger than %d bytes", maxQueried)
	}
	if len(a.Path) > maxQueryPath {
		return kernel.ToolResult{}, fmt.Errorf("path is longer than %d bytes", maxQueryPath)
	}
	if err := checkPath(a.Path); err != nil {
		return kernel.ToolResult{}, err
	}
	// Not gjson.Valid: it recurses as deep as the text is nested.
	if !json.Valid([]byte(a.JSON)) {
		return kernel.ToolResult{}, errors.New("json is not valid: send one whole JSON text")
	}
	found := gjson.Get(a.JSON, a.Path)
	if !found.Exists() {
		return kernel.ToolResult{}, errors.New("there is nothing at this path; try a shorter one to see what there is")
	}
	result := kernel.ToolResult{Content: found.Raw, Summary: "a " + strings.ToLower(found.Type.String())}
	switch {
	case found.Raw == "": // a count
		result.Content = found.String()
	case found.IsArray():
		result.Summary = count(int(found.Get("#").Int()), "element")
	case found.IsObject():
		result.Summary = "an object"
	case found.Type == gjson.Null:
		result.Summary = "null"
	}
	return result, nil
}

// checkPath refuses what makes a small text grow without bound: more than one
// list of selectors, of which each can repeat the whole text, and modifiers
// that are not known to be harmless.
func checkPath(path string) error {
	if strings.Count(path, "[")+strings.Count(path, "{") > 1 {
		return errors.New("path has more than one [ or {: select in one list only")
	}
	for i := range len(path) {
		if path[i] != '@' || i > 0 && strings.IndexByte(inWord, path[i-1]) >= 0 {
			continue // inside of a value, such as a mail address
		}
		end := i + 1
		for end < len(path) && 'a' <= path[end] && path[end] <= 'z' {
			end++
		}
		if !slices.Contains(allowedModifiers(), path[i:end]) {
			return errors.New("path has an unknown or refused modifier: use one of " + strings.Join(allowedModifiers(), " "))
		}
	}
	return nil
}

// inWord are characters after which an @ begins no modifier.
const inWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+*%"
