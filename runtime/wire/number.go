package wire

import (
	"math"
	"math/big"
	"strconv"
)

// parseInt returns the value of a valid number literal. ok is false if it is not an integer, in if it is one and fits:
// any int64 written plainly, and up to 2^53 either way when written with a fraction or an exponent.
func parseInt(s []byte, plain bool) (v int64, ok, in bool) {
	if plain {
		v, err := strconv.ParseInt(str(s), 10, 64)
		return v, true, err == nil
	}
	d := parseDecimal(s)
	if d.digits == nil {
		return 0, true, true
	}
	e, small := d.exp10()
	switch {
	case d.expNegative():
		return 0, false, false
	case !small || len(d.digits)+e > 16:
		return 0, true, false
	}
	for _, c := range d.digits {
		v = v*10 + int64(c-'0')
	}
	for ; e > 0; e-- {
		v *= 10
	}
	if v > 1<<53 {
		return 0, true, false
	}
	if d.neg {
		v = -v
	}
	return v, true, true
}

func parseFloat(s []byte) (float64, bool) {
	f, err := strconv.ParseFloat(str(s), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// decimal is a number as ±digits × 10^exp; digits has neither leading nor trailing zeros and is nil for zero.
type decimal struct {
	neg    bool
	digits []byte
	exp    int64
	big    *big.Int // the exponent, when it may not fit exp
}

func (d *decimal) expNegative() bool {
	if d.big != nil {
		return d.big.Sign() < 0
	}
	return d.exp < 0
}

// exp10 returns the exponent if it is between 0 and 400.
func (d *decimal) exp10() (int, bool) {
	if d.big != nil || d.exp < 0 || d.exp > 400 {
		return 0, false
	}
	return int(d.exp), true
}

func (d *decimal) equal(o *decimal) bool {
	if len(d.digits) == 0 || len(o.digits) == 0 {
		return len(d.digits) == len(o.digits) // zeros are equal whatever their sign
	}
	if d.neg != o.neg || string(d.digits) != string(o.digits) {
		return false
	}
	if d.big == nil && o.big == nil {
		return d.exp == o.exp
	}
	return d.bigExp().Cmp(o.bigExp()) == 0
}

func (d *decimal) bigExp() *big.Int {
	if d.big != nil {
		return d.big
	}
	return big.NewInt(d.exp)
}

// parseDecimal takes a valid number literal apart. The work is bounded by the length of the literal, never by the size
// of its exponent.
func parseDecimal(s []byte) decimal {
	var d decimal
	i := 0
	if i < len(s) && s[i] == '-' {
		d.neg = true
		i++
	}
	j := digits(s, i)
	ds := s[i:j]
	if j < len(s) && s[j] == '.' {
		k := digits(s, j+1)
		all := make([]byte, 0, len(ds)+k-j-1)
		all = append(all, ds...)
		all = append(all, s[j+1:k]...)
		d.exp -= int64(k - j - 1)
		ds, j = all, k
	}
	for len(ds) > 0 && ds[0] == '0' {
		ds = ds[1:]
	}
	for len(ds) > 0 && ds[len(ds)-1] == '0' {
		ds = ds[:len(ds)-1]
		d.exp++
	}
	if len(ds) == 0 {
		return decimal{}
	}
	d.digits = ds
	if j < len(s) && s[j]|0x20 == 'e' {
		t := s[j+1:]
		if e, err := strconv.ParseInt(str(t), 10, 64); err == nil && e < 1<<62 && e > -1<<62 {
			d.exp += e
		} else {
			e, _ := new(big.Int).SetString(string(t), 10)
			if e == nil {
				e = new(big.Int)
			}
			d.big = e.Add(e, big.NewInt(d.exp))
		}
	}
	return d
}
