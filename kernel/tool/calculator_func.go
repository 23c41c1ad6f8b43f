package tool

import (
	"math"
	"math/big"
	"strings"
)

// constants have 50 digits.
const (
	piDigits = "3.1415926535897932384626433832795028841971693993751"
	eDigits  = "2.7182818284590452353602874713526624977572470936999"
)

// named reads a constant, or a function with its arguments.
func (x *expression) named() (number, error) {
	start := x.at
	end := start
	for i, c := range x.text[start:] {
		if !letter(c) && (c < '0' || c > '9') {
			break
		}
		end = start + i + len(string(c))
	}
	name := strings.ToLower(x.text[start:end])
	x.at = end
	if !x.take("(") {
		var digits string
		switch name {
		case "pi", "π":
			digits = piDigits
		case "e":
			digits = eDigits
		default:
			x.at = start
			return number{}, x.errorf("there is no constant %s", quote(name))
		}
		r, _ := new(big.Rat).SetString(digits)
		return number{r, true}, nil
	}
	var args []number
	for {
		arg, err := x.sum()
		if err != nil {
			return number{}, err
		}
		args = append(args, arg)
		if x.take(")") {
			break
		}
		if !x.take(",") {
			if x.peek() == 0 {
				return number{}, x.errorf("a parenthesis is not closed")
			}
			return number{}, x.unexpected()
		}
	}
	after := x.at
	x.at = start // errors point at the function
	n, err := x.apply(name, args)
	if err == nil {
		x.at = after
	}
	return n, err
}

func (x *expression) apply(name string, args []number) (number, error) {
	switch name {
	case "min", "max", "sum":
		return x.fold(name, args)
	case "round":
		if len(args) == 2 {
			return x.round(args[0], args[1])
		}
	case "pow":
		if len(args) == 2 {
			return x.raise(args[0], args[1])
		}
	}
	if len(args) != 1 {
		return number{}, x.errorf("%s does not take %s", quote(name), count(len(args), "argument"))
	}
	n := args[0]
	whole := func(i *big.Int) (number, error) {
		return number{new(big.Rat).SetInt(i), n.rounded}, nil
	}
	switch name {
	case "abs":
		return number{new(big.Rat).Abs(n.Rat), n.rounded}, nil
	case "trunc":
		return whole(truncate(n.Rat))
	case "floor":
		return whole(floor(n.Rat))
	case "ceil":
		return whole(new(big.Int).Neg(floor(new(big.Rat).Neg(n.Rat))))
	case "round":
		return x.round(n, number{new(big.Rat), false})
	case "fact":
		const most = 450 // beyond it the result is over maxBits
		if !n.IsInt() || n.Sign() < 0 || n.Num().Cmp(big.NewInt(most)) > 0 {
			return number{}, x.errorf("fact takes a whole number from 0 to %d", most)
		}
		return whole(new(big.Int).MulRange(1, n.Num().Int64()))
	case "sqrt":
		return x.sqrt(n)
	}
	f := map[string]func(float64) float64{
		"cbrt": math.Cbrt, "exp": math.Exp, "ln": math.Log, "log": math.Log10, "log2": math.Log2,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
		"asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	}[name]
	if f == nil {
		return number{}, x.errorf("there is no function %s", quote(name))
	}
	value, _ := n.Float64()
	result := f(value)
	const noise = 1e-15 // what is left of sin(pi)
	if (name == "sin" || name == "cos" || name == "tan") && math.Abs(result) < noise && n.rounded {
		result = 0
	}
	return x.float(result)
}

// float takes the result of a function of package math.
func (x *expression) float(value float64) (number, error) {
	if math.IsNaN(value) {
		return number{}, x.errorf("not defined for this number")
	}
	if math.IsInf(value, 0) {
		return number{}, x.errorf("not defined for this number, or too large")
	}
	return number{new(big.Rat).SetFloat64(value), true}, nil
}

func (x *expression) fold(name string, args []number) (number, error) {
	result := args[0]
	for _, arg := range args[1:] {
		if name == "sum" {
			var err error
			if result, err = x.checked(number{new(big.Rat).Add(result.Rat, arg.Rat), result.rounded || arg.rounded}); err != nil {
				return number{}, err
			}
			continue
		}
		if less := arg.Cmp(result.Rat) < 0; less == (name == "min") {
			result = number{arg.Rat, result.rounded || arg.rounded}
		}
	}
	return result, nil
}

// round rounds half away from zero, to some decimal digits.
func (x *expression) round(n, digits number) (number, error) {
	const most = 300
	if !digits.IsInt() || new(big.Int).Abs(digits.Num()).Cmp(big.NewInt(most)) > 0 {
		return number{}, x.errorf("round takes a whole number of digits up to %d", most)
	}
	places := digits.Num().Int64()
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(places, -places)), nil))
	if places < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(n.Rat, scale)
	half := big.NewRat(int64(scaled.Sign()), 2)
	rounded := new(big.Rat).SetInt(truncate(half.Add(scaled, half)))
	return x.checked(number{rounded.Quo(rounded, scale), n.rounded})
}

// sqrt is exact for the squares of fractions, and to 34 digits else.
func (x *expression) sqrt(n number) (number, error) {
	if n.Sign() < 0 {
		return number{}, x.errorf("the square root of a negative number is not real")
	}
	num, denom := new(big.Int).Sqrt(n.Num()), new(big.Int).Sqrt(n.Denom())
	if root := new(big.Rat).SetFrac(num, denom); new(big.Rat).Mul(root, root).Cmp(n.Rat) == 0 {
		return number{root, n.rounded}, nil
	}
	f := new(big.Float).SetPrec(256).SetRat(n.Rat)
	r, _ := f.Sqrt(f).Rat(nil)
	return x.checked(number{r, true})
}

// raise is exact for whole exponents.
func (x *expression) raise(base, exponent number) (number, error) {
	if base.Sign() == 0 && exponent.Sign() < 0 {
		return number{}, x.errorf("division by zero")
	}
	if !exponent.IsInt() {
		b, _ := base.Float64()
		e, _ := exponent.Float64()
		return x.float(math.Pow(b, e))
	}
	bits := max(base.Num().BitLen(), base.Denom().BitLen())
	times := new(big.Int).Abs(exponent.Num())
	if bits > 1 && (!times.IsInt64() || times.Int64() > 2*maxBits/int64(bits-1)) {
		return number{}, x.errorf("the result has more than 1200 digits")
	}
	if bits <= 1 { // 0, 1 and -1: only the parity counts
		times = new(big.Int).And(times, big.NewInt(1))
		if exponent.Sign() != 0 && times.Sign() == 0 {
			times.SetInt64(2)
		}
	}
	num, denom := new(big.Int).Exp(base.Num(), times, nil), new(big.Int).Exp(base.Denom(), times, nil)
	if exponent.Sign() < 0 {
		num, denom = denom, num
	}
	return x.checked(number{new(big.Rat).SetFrac(num, denom), base.rounded || exponent.rounded})
}

func floor(r *big.Rat) *big.Int {
	// Euclidean division rounds down, as a denominator is positive.
	return new(big.Int).Div(r.Num(), r.Denom())
}
