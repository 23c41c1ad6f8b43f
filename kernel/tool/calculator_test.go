package tool

import (
	"strings"
	"testing"
)

func TestCalculator(t *testing.T) {
	for expression, want := range map[string]string{
		"1+1":                       "2",
		"0.1+0.2":                   "0.3",
		"1.10 * 3":                  "3.3",
		"2+3*4":                     "14",
		"(2+3)*4":                   "20",
		"10-4-3":                    "3",
		"100/10/5":                  "2",
		"2^10":                      "1024",
		"2**10":                     "1024",
		"2^3^2":                     "512",
		"-2^2":                      "-4",
		"(-2)^2":                    "4",
		"2^-2":                      "0.25",
		"--3":                       "3",
		"+3":                        "3",
		"7 % 3":                     "1",
		"-7 % 3":                    "-1",
		"5.5 % 2":                   "1.5",
		"1/3":                       "≈ 0.3333333333333333333333333333333333 (exactly 1/3)",
		"1/3*3":                     "1",
		"1/8":                       "0.125",
		"1e3":                       "1000",
		"1.5E-3":                    "0.0015",
		".5 + 5.":                   "5.5",
		"3 × 4 ÷ 2 − 1":             "5",
		"2^200":                     "1606938044258990275541962092341162602522202993782792835301376",
		"fact(20)":                  "2432902008176640000",
		"fact(0)":                   "1",
		"fact(450)":                 "≈ 1.733368733112632659344713146104579e+1000",
		"sqrt(16)":                  "4",
		"sqrt(0.25)":                "0.5",
		"sqrt(2)":                   "≈ 1.4142135623731",
		"sqrt(2)^2":                 "≈ 2",
		"sqrt(1e400)/1e200":         "1",
		"abs(-3.5)":                 "3.5",
		"floor(-1.5)":               "-2",
		"ceil(-1.5)":                "-1",
		"trunc(-1.5)":               "-1",
		"round(2.5)":                "3",
		"round(-2.5)":               "-3",
		"round(1.005, 2)":           "1.01",
		"round(1234, -2)":           "1200",
		"min(3, 1, 2)":              "1",
		"max(3, 1, 2)":              "3",
		"sum(0.1, 0.2, 0.3)":        "0.6",
		"pow(2, 0.5)":               "≈ 1.4142135623731",
		"8^(1/3)":                   "≈ 2",
		"pi":                        "≈ 3.14159265358979",
		"2*π":                       "≈ 6.28318530717959",
		"sin(pi)":                   "≈ 0",
		"cos(0)":                    "≈ 1",
		"log(1000)":                 "≈ 3",
		"LN(e)":                     "≈ 1",
		"0^0":                       "1",
		"0^5":                       "0",
		"(-1)^1000000000000000001":  "-1",
		"1^99999999999999999999999": "1",
		"0.3 - 0.1 * 3":             "0",
		"((((((1))))))":             "1",
	} {
		n, err := evaluate(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		got := n.String()
		if strings.HasPrefix(want, "≈ 1.4142135623731") {
			got, want = got[:len("≈ 1.41421356237")], want[:len("≈ 1.41421356237")]
		}
		if got != want {
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
}

func TestCalculatorErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"1/0":                              "at character 3: division by zero",
		"5 % 0":                            "division by zero",
		"1/(2-2)":                          "division by zero",
		"0^-1":                             "division by zero",
		"":                                 "ends too early",
		"1 +":                              "ends too early",
		"15%":                              "ends too early",
		"(1":                               "not closed",
		"min(1,":                           "ends too early",
		"1)":                               "not opened",
		"1,234":                            "not 1,234.5",
		"2 2":                              "operator is missing",
		"2x":                               "operator is missing",
		"x":                                `no constant "x"`,
		"exec(1)":                          `no function "exec"`,
		"sqrt(-1)":                         "not real",
		"ln(-1)":                           "not defined",
		"asin(2)":                          "not defined",
		"(-8)^0.5":                         "not defined",
		"fact(1.5)":                        "whole number",
		"fact(1e9)":                        "whole number",
		"fact(-1)":                         "whole number",
		"round(1, 1e9)":                    "whole number of digits",
		"sin(1, 2)":                        "2 arguments",
		"x = 1":                            `no constant`,
		"1 = 1":                            "= is not an operator",
		"1e99999":                          "exponent is too large",
		"1e9999":                           "more than 1200 digits",
		"9^9^9^9":                          "more than 1200 digits",
		"10^(10^10)":                       "more than 1200 digits",
		"0.5^99999":                        "more than 1200 digits",
		"exp(1e9)":                         "too large",
		"__import__":                       "expected",
		"$(ls)":                            "expected",
		"1;2":                              "operator is missing",
		"1\x002":                           "operator is missing",
		".":                                "a number is expected",
		strings.Repeat("(", 900) + "1":     "nested more than 100",
		strings.Repeat("2^", 400) + "1":    "nested more than 100",
		strings.Repeat("1+", 3000) + "1":   "longer than",
		strings.Repeat("9", 3000):          "more than 1200 digits",
		strings.Repeat("sqrt(", 150) + "2": "nested more than 100",
	} {
		n, err := evaluate(expression)
		if err == nil {
			t.Errorf("%.40s = %s, want an error", expression, n)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %q, want %q", expression, err, want)
		}
	}
	r, _ := inRoot(t, nil)
	bad(t, r, `"expression" must be`, "calculator", "expression", strings.Repeat("1", 2000))
	if got := good(t, r, "calculator", "expression", "19.99 * 3"); got.Content != "59.97" || got.Summary != "59.97" {
		t.Errorf("%+v", got)
	}
}

func FuzzCalculator(f *testing.F) {
	for _, s := range []string{
		"1+2*3", "(1/3)^-5", "sqrt(2)*sqrt(2)", "round(1.005,2)", "9^9^9", "fact(450)/fact(449)", "1e-999/7",
		"min(1,2,max(3,4))", "−3×−4", "π", "sin(1e300)", "((((", "1,2", "2**0.5", "5%-3", "tan(pi/2)", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > maxExpression {
			return
		}
		n, err := evaluate(expression)
		if err != nil {
			return
		}
		text := n.String()
		if text == "" || len(text) > 2*longest {
			t.Fatalf("a result of %d bytes", len(text))
		}
		if n.rounded || strings.HasPrefix(text, "≈") {
			return
		}
		again, err := evaluate(text)
		if err != nil || again.Cmp(n.Rat) != 0 {
			t.Fatalf("%q is read back as %v, %v", text, again, err)
		}
	})
}
