package tool

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/rax-project/rax/kernel"
)

type calculatorArgs struct {
	Expression string `json:"expression" jsonschema:"such as (1.1 + 2.2) * 3 ^ 2, with a decimal point and without thousands separators"`
}

const maxExpression = 1000

func calculator() kernel.Tool {
	return Func("calculator",
		"Evaluate an arithmetic expression exactly, in decimals. Operators + - * / ^ and % (the remainder, with the sign of the dividend); "+
			"functions abs ceil floor round(x, digits) trunc min max sum fact sqrt cbrt exp ln log (to base 10) log2 sin cos tan asin acos atan (radians); constants pi, e. "+
			"A result that is rounded begins with ≈.",
		kernel.EffectNone,
		func(_ context.Context, a calculatorArgs) (kernel.ToolResult, error) {
			n, err := evaluate(a.Expression)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			text := n.String()
			return kernel.ToolResult{Content: text, Summary: text}, nil
		},
		length("expression", 1, maxExpression))
}

// number is an exact fraction, or one that a rounded function has been part of.
type number struct {
	*big.Rat
	rounded bool
}

const (
	// exactDigits are shown of a fraction that has no end, roundedDigits of
	// what came through float64, which is good for 15.
	exactDigits   = 34
	roundedDigits = 15
	// longest is the number of digits that is written out.
	longest = 400
)

// String writes the number in decimals: exactly where it can.
func (n number) String() string {
	if n.rounded {
		return "≈ " + significant(n.Rat, roundedDigits)
	}
	if n.IsInt() {
		if text := n.Num().String(); len(text) <= longest {
			return text
		}
		return "≈ " + significant(n.Rat, exactDigits)
	}
	if digits, exact := n.FloatPrec(); exact && digits <= longest {
		if text := n.FloatString(digits); len(text) <= longest {
			return text
		}
	}
	text := "≈ " + significant(n.Rat, exactDigits)
	if fraction := n.RatString(); len(fraction) <= 40 {
		text += " (exactly " + fraction + ")"
	}
	return text
}

// significant rounds to some significant digits.
func significant(r *big.Rat, digits int) string {
	// The precision is that of the number itself, so that it is rounded once.
	f := new(big.Float).SetPrec(uint(max(r.Num().BitLen(), r.Denom().BitLen()) + 256)).SetRat(r)
	text := f.Text('g', digits)
	mantissa, exponent, found := strings.Cut(text, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if found {
		return mantissa + "e" + exponent
	}
	return mantissa
}

// expression parses and evaluates at once, by precedence climbing.
type expression struct {
	text  string
	at    int
	depth int
}

// maxNesting bounds the recursion.
const maxNesting = 100

// evaluate works out an expression. Errors tell the position, from 1, in
// characters.
func evaluate(text string) (number, error) {
	if len(text) > 4*maxExpression {
		return number{}, fmt.Errorf("the expression is longer than %d characters", maxExpression)
	}
	x := &expression{text: text}
	n, err := x.sum()
	if err == nil && x.peek() != 0 {
		err = x.unexpected()
	}
	if err != nil {
		return number{}, err
	}
	return n, nil
}

func (x *expression) errorf(format string, args ...any) error {
	at := len([]rune(x.text[:x.at])) + 1
	return fmt.Errorf("at character %d: %s", at, fmt.Sprintf(format, args...))
}

func (x *expression) unexpected() error {
	switch c := x.peek(); c {
	case 0:
		return x.errorf("the expression ends too early")
	case ',':
		return x.errorf("a comma stands between arguments only; write 1234.5, not 1,234.5")
	case '=':
		return x.errorf("= is not an operator")
	case ')':
		return x.errorf("a parenthesis is closed that was not opened")
	default:
		return x.errorf("an operator is missing or unknown")
	}
}

// peek skips white space and returns the next character, 0 at the end.
func (x *expression) peek() rune {
	for i, c := range x.text[x.at:] {
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case 0:
			c = '\uFFFD'
		}
		x.at += i
		return c
	}
	x.at = len(x.text)
	return 0
}

// take consumes the operator if it is next; spellings are alternatives.
func (x *expression) take(spellings ...string) bool {
	x.peek()
	for _, s := range spellings {
		if strings.HasPrefix(x.text[x.at:], s) {
			x.at += len(s)
			return true
		}
	}
	return false
}

func (x *expression) sum() (number, error) {
	if x.depth++; x.depth > maxNesting {
		return number{}, x.errorf("nested more than %d deep", maxNesting)
	}
	defer func() { x.depth-- }()
	left, err := x.product()
	for err == nil {
		var operate func(a, b *big.Rat) *big.Rat
		switch {
		case x.take("+"):
			operate = new(big.Rat).Add
		case x.take("-", "−"):
			operate = new(big.Rat).Sub
		default:
			return left, nil
		}
		var right number
		if right, err = x.product(); err == nil {
			left, err = x.checked(number{operate(left.Rat, right.Rat), left.rounded || right.rounded})
		}
	}
	return number{}, err
}

func (x *expression) product() (number, error) {
	left, err := x.signed()
	for err == nil {
		operator := x.peek()
		switch operator {
		case '*', '×', '·', '/', '÷', '%':
			x.take("*", "×", "·", "/", "÷", "%")
		default:
			return left, nil
		}
		at := x.at
		var right number
		if right, err = x.signed(); err != nil {
			break
		}
		result := number{new(big.Rat), left.rounded || right.rounded}
		switch {
		case operator == '*' || operator == '×' || operator == '·':
			result.Mul(left.Rat, right.Rat)
		case right.Sign() == 0:
			x.at = at
			return number{}, x.errorf("division by zero")
		case operator == '%':
			result.Rat = remainder(left.Rat, right.Rat)
		default:
			result.Quo(left.Rat, right.Rat)
		}
		left, err = x.checked(result)
	}
	return number{}, err
}

// remainder is a - b*trunc(a/b).
func remainder(a, b *big.Rat) *big.Rat {
	whole := new(big.Rat).SetInt(truncate(new(big.Rat).Quo(a, b)))
	return whole.Sub(a, whole.Mul(whole, b))
}

func truncate(r *big.Rat) *big.Int { return new(big.Int).Quo(r.Num(), r.Denom()) }

// signed is a power with signs before it: -2^2 is -4.
func (x *expression) signed() (number, error) {
	negative := false
	for {
		switch {
		case x.take("-", "−"):
			negative = !negative
			continue
		case x.take("+"):
			continue
		}
		break
	}
	n, err := x.power()
	if err == nil && negative {
		n.Rat = new(big.Rat).Neg(n.Rat)
	}
	return n, err
}

func (x *expression) power() (number, error) {
	base, err := x.factor()
	if err != nil || !x.take("^", "**") {
		return base, err
	}
	if x.depth++; x.depth > maxNesting {
		return number{}, x.errorf("nested more than %d deep", maxNesting)
	}
	defer func() { x.depth-- }()
	exponent, err := x.signed() // to the right first: 2^3^2 is 2^9
	if err != nil {
		return number{}, err
	}
	return x.raise(base, exponent)
}

func (x *expression) factor() (number, error) {
	switch c := x.peek(); {
	case c == '(':
		x.take("(")
		n, err := x.sum()
		if err == nil && !x.take(")") {
			if x.peek() == 0 {
				return number{}, x.errorf("a parenthesis is not closed")
			}
			return number{}, x.unexpected()
		}
		return n, err
	case '0' <= c && c <= '9' || c == '.':
		return x.literal()
	case letter(c):
		return x.named()
	case c == 0 || c == ')' || c == ',' || c == '=':
		return number{}, x.unexpected()
	}
	return number{}, x.errorf("a number, a function or a parenthesis is expected")
}

func letter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == 'π' }

// literal reads 12, 1.5, .5, 1e-3. The exponent is bounded: the number is
// written out in full.
func (x *expression) literal() (number, error) {
	start := x.at
	rest := x.text[start:]
	digits := func(i int) int {
		for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' {
			i++
		}
		return i
	}
	end := digits(0)
	if end < len(rest) && rest[end] == '.' {
		end = digits(end + 1)
	}
	if rest[:end] == "." {
		return number{}, x.errorf("a number is expected")
	}
	if end < len(rest) && (rest[end] == 'e' || rest[end] == 'E') {
		exponent := end + 1
		if exponent < len(rest) && (rest[exponent] == '-' || rest[exponent] == '+') {
			exponent++
		}
		if last := digits(exponent); last > exponent {
			if last-exponent > 4 {
				return number{}, x.errorf("the exponent is too large")
			}
			end = last
		}
	}
	r, ok := new(big.Rat).SetString(strings.TrimSuffix(rest[:end], "."))
	if !ok {
		return number{}, x.errorf("a number is expected")
	}
	x.at = start + end
	return x.checked(number{r, false})
}

// maxBits bounds numerator and denominator: about 1,200 decimal digits. With
// the length of an expression it bounds time and memory.
const maxBits = 4096

func (x *expression) checked(n number) (number, error) {
	if n.Num().BitLen() > maxBits || n.Denom().BitLen() > maxBits {
		return number{}, x.errorf("the result has more than 1200 digits")
	}
	return n, nil
}
