package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rax-project/rax/kernel/control"
)

// config is what .rax.yaml and the user's config.yaml can hold. Flags and the
// environment win over the project's file, and that over the user's.
type config struct {
	Model  modelConfig            `json:"model,omitempty" jsonschema:"which model runs, and how"`
	Prices map[string]priceConfig `json:"prices,omitempty" jsonschema:"US dollars per million tokens, by provider:model"`
	Safety safetyConfig           `json:"safety,omitempty" jsonschema:"what is removed from every text"`
	// Approval holds rules that decide before the default ones.
	Approval []control.Rule `json:"approval,omitempty" jsonschema:"which calls of rax run are allowed, asked about or denied; the first rule that fits decides"`
}

type modelConfig struct {
	Default  string `json:"default,omitempty" jsonschema:"the model of rax run, as provider:model"`
	Window   int64  `json:"window,omitempty" jsonschema:"how many tokens a prompt may have"`
	Strategy string `json:"strategy,omitempty" jsonschema:"the strategy of rax run"`
	System   string `json:"system,omitempty" jsonschema:"what stands first in the system prompt"`
}

type priceConfig struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
}

// loadConfig reads the user's file, then the project's over it.
func loadConfig(sys system) (config, error) {
	var c config
	paths := []string{}
	if path, err := userConfig(sys); err == nil {
		paths = append(paths, path)
	}
	if path, ok := projectConfig(); ok {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if err := c.merge(path); err != nil {
			return config{}, err
		}
	}
	return c, nil
}

func userConfig(sys system) (string, error) {
	if dir := sys.getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "rax", "config.yaml"), nil
	}
	home, err := sys.home()
	return filepath.Join(home, ".config", "rax", "config.yaml"), err
}

// projectConfig looks for .rax.yaml from the working directory upwards.
func projectConfig() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		path := filepath.Join(dir, ".rax.yaml")
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 1 << 20

// merge reads a file over what is there. A missing file changes nothing.
func (c *config) merge(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return err
	}
	if len(data) > maxConfig {
		return usageError{fmt.Errorf("%s: longer than %d bytes", path, maxConfig), ""}
	}
	err = yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.UseJSONUnmarshaler()).Decode(c)
	if err != nil && !errors.Is(err, io.EOF) {
		return usageError{configError(path, err), "see: rax schema config"}
	}
	return c.Safety.check(path, data)
}

// configError names file, line and reason, and shows nothing of the file: it may
// hold what is not for the screen.
func configError(path string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", path, y.GetToken().Position.Line, y.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}

// configSchema gives the JSON Schema of a configuration file.
func configSchema() ([]byte, error) {
	schema, err := jsonschema.For[config](nil)
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.Title = "The configuration of rax (.rax.yaml)"
	doc, err := json.MarshalIndent(schema, "", "  ")
	return append(doc, '\n'), err
}
