package tool

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rax-project/rax/kernel"
)

type timeArgs struct {
	Action string `json:"action" jsonschema:"now: the current time; format: a time in another zone or layout; diff: from time to until; add: time plus duration"`
	Time   string `json:"time,omitempty" jsonschema:"the time to work with, such as 2026-01-31, 2026-01-31T10:00:00Z or Unix seconds of 9 digits and more; not for now"`
	Until  string `json:"until,omitempty" jsonschema:"the second time, for diff"`
	Zone   string `json:"zone,omitempty" jsonschema:"IANA time zone of the result, and of times that name none, such as Europe/Vienna; default UTC"`
	Layout string `json:"layout,omitempty" jsonschema:"rfc3339 (default), date, time, datetime, weekday, week (ISO 8601), unix, unix_ms, or a Go layout such as 02.01.2006 15:04"`
	Add    string `json:"duration,omitempty" jsonschema:"for add, such as 36h, -15m or 10d; a day is a calendar day in the zone"`
}

func timeTool(now func() time.Time) kernel.Tool {
	return Func("time",
		"Tell the current time, convert times between zones and layouts, and calculate with them.",
		kernel.EffectNone,
		func(_ context.Context, a timeArgs) (kernel.ToolResult, error) {
			text, err := a.run(now)
			return kernel.ToolResult{Content: text, Summary: text}, err
		},
		oneOf("action", "now", "format", "diff", "add"),
		length("time", 0, 100), length("until", 0, 100), length("zone", 0, 100),
		length("layout", 0, 100), length("duration", 0, 100))
}

func (a timeArgs) run(now func() time.Time) (string, error) {
	zone, err := time.LoadLocation(a.Zone)
	if err != nil || a.Zone == "Local" {
		return "", errors.New("zone is unknown: send an IANA name such as America/New_York")
	}
	if a.Action == "now" {
		return layoutTime(now().In(zone), a.Layout), nil
	}
	from, err := parseTime("time", a.Time, zone)
	if err != nil {
		return "", err
	}
	switch a.Action {
	case "diff":
		until, err := parseTime("until", a.Until, zone)
		if err != nil {
			return "", err
		}
		return difference(from, until), nil
	case "add":
		if from, err = addDuration(from, a.Add); err != nil {
			return "", err
		}
	}
	return layoutTime(from, a.Layout), nil
}

// parseTime reads a time; one without a zone is in the given one.
func parseTime(property, text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, fmt.Errorf("%s is missing", property)
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) >= 9 { // 20260131 is a date
		const milliseconds = 100_000_000_000 // as seconds, it is the year 5138
		t := time.Unix(seconds, 0)
		if seconds >= milliseconds || seconds <= -milliseconds {
			t = time.UnixMilli(seconds)
		}
		return inRange(property, t.In(zone))
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, time.RFC1123Z, time.RFC1123, time.RFC850,
		time.ANSIC, time.UnixDate, "2 January 2006", "January 2, 2006", "2 Jan 2006", "Jan 2, 2006", "2006-01", "2006",
	} {
		t, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		// An abbreviation such as CET is no zone: Go reads an unknown one as
		// UTC, which would be a guess.
		if name, offset := t.Zone(); offset == 0 && t.Location() != zone && name != "" && name != "UTC" && name != "GMT" {
			return time.Time{}, fmt.Errorf("%s names its zone by an abbreviation: send an offset such as +01:00", property)
		}
		return inRange(property, t.In(zone))
	}
	return time.Time{}, fmt.Errorf("%s cannot be read: send it like 2026-01-31 or 2026-01-31T10:00:00+01:00", property)
}

// inRange keeps to the years that RFC 3339 can write.
func inRange(property string, t time.Time) (time.Time, error) {
	if y := t.Year(); y < 0 || y > 9999 {
		return t, fmt.Errorf("%s is outside of the years 0 to 9999", property)
	}
	return t, nil
}

func addDuration(t time.Time, text string) (time.Time, error) {
	text = strings.ReplaceAll(text, " ", "")
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n > -4_000_000 && n < 4_000_000 {
			return inRange("the result", t.AddDate(0, 0, n))
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		return inRange("the result", t.Add(d))
	}
	return t, errors.New("duration cannot be read: send it like 36h, -15m, 1h30m or 10d")
}

// difference is in a form for reading and in seconds. Seconds are taken from
// the Unix times: a time.Duration ends at 292 years.
func difference(from, until time.Time) string {
	seconds, nanos := until.Unix()-from.Unix(), int64(until.Nanosecond()-from.Nanosecond())
	sign := ""
	if seconds < 0 || seconds == 0 && nanos < 0 {
		sign, seconds, nanos = "-", -seconds, -nanos
	}
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+1e9
	}
	fraction := ""
	if nanos > 0 {
		fraction = strings.TrimRight(fmt.Sprintf(".%09d", nanos), "0")
	}
	return fmt.Sprintf("%s%dd %dh %dm %d%ss (%s%d%s seconds)", sign,
		seconds/86400, seconds/3600%24, seconds/60%60, seconds%60, fraction, sign, seconds, fraction)
}

func layoutTime(t time.Time, layout string) string {
	switch layout {
	case "", "rfc3339":
		return t.Format(time.RFC3339)
	case "date":
		return t.Format(time.DateOnly)
	case "time":
		return t.Format(time.TimeOnly)
	case "datetime":
		return t.Format(time.DateTime)
	case "weekday":
		return t.Weekday().String()
	case "week":
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case "unix":
		return strconv.FormatInt(t.Unix(), 10)
	case "unix_ms":
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.Format(layout)
}
