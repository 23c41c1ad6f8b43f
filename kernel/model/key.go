package model

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// KeyError says that there is no usable key. It is returned before anything is
// sent, and never holds the key.
type KeyError struct {
	// Variable is the environment variable that would hold it.
	Variable string
	// Reason says what is wrong with the key that there is; empty when there is
	// none.
	Reason string
}

func (e *KeyError) Error() string {
	if e.Reason != "" {
		return e.Variable + ": " + e.Reason
	}
	return "no API key: " + e.Variable + " is not set"
}

// Hint says where a key is looked for.
func (e *KeyError) Hint() string {
	if e.Reason != "" {
		return "give the key alone, without quotes or spaces"
	}
	return "set " + e.Variable + ", or name a key file"
}

// KeyFileError says that a key file cannot be used.
type KeyFileError struct {
	Path string
	// Open says that others than its owner have a right to the file, which is
	// Mode.
	Open bool
	Mode os.FileMode
	Err  error
}

func (e *KeyFileError) Error() string {
	if e.Open {
		return fmt.Sprintf("key file %s: mode %04o gives others a right to it", e.Path, e.Mode.Perm())
	}
	return fmt.Sprintf("key file %s: %v", e.Path, e.Err)
}

func (e *KeyFileError) Unwrap() error { return e.Err }

// Hint says how to close an open file.
func (e *KeyFileError) Hint() string {
	if e.Open {
		return "chmod 600 " + e.Path
	}
	return "a key file holds the key alone, or lines NAME=key"
}

// findKey looks for a service's key: in the environment, then in the key file.
// Without any it gives an empty key and the variable that could have held it.
func findKey(s service, opt Options) (key, variable string, err error) {
	for _, variable := range s.keyVars {
		if key := strings.TrimSpace(opt.Getenv(variable)); key != "" {
			return key, variable, checkKey(key, variable)
		}
	}
	if opt.KeyFile == "" {
		return "", s.keyVars[0], nil
	}
	data, err := readKeyFile(opt.KeyFile)
	if err != nil {
		return "", "", err
	}
	key, variable = keyIn(data, s.keyVars)
	if key == "" {
		return "", variable, nil
	}
	return key, variable, checkKey(key, variable)
}

// keyIn finds the key in the text of a key file.
func keyIn(data string, variables []string) (key, variable string) {
	named := map[string]string{}
	bare := ""
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if ok && isVariable(name) {
			if _, dup := named[name]; !dup {
				named[name] = strings.Trim(strings.TrimSpace(value), `"'`)
			}
			continue
		}
		if bare == "" {
			bare = line
		}
	}
	for _, v := range variables {
		if named[v] != "" {
			return named[v], v
		}
	}
	if len(named) > 0 { // keys of other providers stay with them
		return "", variables[0]
	}
	return bare, variables[0]
}

// isVariable reports whether s is written like the name of a variable; a key
// that ends in "=" is not.
func isVariable(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return strings.HasSuffix(s, "_KEY")
}

// checkKey refuses what no header can hold. The message says what, not which.
func checkKey(key, variable string) error {
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return &KeyError{Variable: variable, Reason: "the key holds a space or a character that no key has"}
		}
	}
	return nil
}

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 64 << 10

func readKeyFile(path string) (string, error) {
	fail := func(err error) (string, error) {
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err // the path is said already
		}
		return "", &KeyFileError{Path: path, Err: err}
	}
	// Looked at before it is opened: opening a pipe would wait for its writer.
	if info, err := os.Stat(path); err != nil {
		return fail(err)
	} else if !info.Mode().IsRegular() {
		return fail(errors.New("no regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("no regular file"))
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", &KeyFileError{Path: path, Open: true, Mode: info.Mode()}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return fail(err)
	}
	if len(data) > maxKeyFile {
		return fail(errors.New("over 64 KiB"))
	}
	return strings.TrimPrefix(string(data), "\ufeff"), nil
}
