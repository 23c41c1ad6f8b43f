package trace

import (
	"reflect"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// Field names a member that a debrief may show.
type Field uint8

// The fields of a Row, by the JSON name that stands in fieldNames.
const (
	FieldRunID Field = iota
	FieldTimestamp
	FieldIter
	FieldSeq
	FieldCallID
	FieldRootRunID
	FieldParentRunID
	FieldDepth
	FieldSessionID
	FieldThreadID
	FieldTurn
	FieldToolName
	FieldOK
	FieldDurationMs
	FieldError
	FieldOutcome
	FieldRejected
	FieldParallelGroup
	FieldRationaleStatus
	FieldRationaleSource
	FieldRationaleReason
	FieldRationale
	FieldOrigin
	FieldNarrative
	FieldNarrativeScope
	FieldNarrativeOrigin
	FieldNarrativeCut
	FieldWithheld
	FieldTask
	FieldModel
	FieldProvider
	FieldFormat
	FieldProducer
	FieldSafety
	FieldImportedFrom
	FieldStatus
	FieldTotalTokens
	FieldTotalCostUsd
	FieldTokens
	FieldCost
	FieldAssumption
	FieldAction
	FieldTargetRef
	FieldDecisionType
	FieldReason
	FieldConfidence
	FieldFrom
	FieldTo
	FieldChosen
	FieldAlternatives
	FieldTerminatedBy
	FieldTerminationRationale
	FieldName
	FieldValue
	FieldLabels
	FieldPatchKind
	FieldMessage
	numFields
)

// fieldNames gives the JSON name of each Field.
var fieldNames = [numFields]string{
	FieldRunID: "runId", FieldTimestamp: "timestamp", FieldIter: "iter",
	FieldSeq: "seq", FieldCallID: "callId", FieldRootRunID: "rootRunId",
	FieldParentRunID: "parentRunId", FieldDepth: "depth",
	FieldSessionID: "sessionId", FieldThreadID: "threadId", FieldTurn: "turn",
	FieldToolName: "toolName", FieldOK: "ok", FieldDurationMs: "durationMs",
	FieldError: "error", FieldOutcome: "outcome", FieldRejected: "rejected",
	FieldParallelGroup: "parallelGroup", FieldRationaleStatus: "rationaleStatus",
	FieldRationaleSource: "rationaleSource", FieldRationaleReason: "rationaleReason",
	FieldRationale: "rationale", FieldOrigin: "origin", FieldNarrative: "narrative",
	FieldNarrativeScope: "narrativeScope", FieldNarrativeOrigin: "narrativeOrigin",
	FieldNarrativeCut: "narrativeCut", FieldWithheld: "withheld", FieldTask: "task",
	FieldModel: "model", FieldProvider: "provider", FieldFormat: "format",
	FieldProducer: "producer", FieldSafety: "safety", FieldImportedFrom: "importedFrom",
	FieldStatus: "status", FieldTotalTokens: "totalTokens",
	FieldTotalCostUsd: "totalCostUsd", FieldTokens: "tokens", FieldCost: "cost",
	FieldAssumption: "assumption", FieldAction: "action", FieldTargetRef: "targetRef",
	FieldDecisionType: "decisionType", FieldReason: "reason",
	FieldConfidence: "confidence", FieldFrom: "from", FieldTo: "to",
	FieldChosen: "chosen", FieldAlternatives: "alternatives",
	FieldTerminatedBy: "terminatedBy", FieldTerminationRationale: "terminationRationale",
	FieldName: "name", FieldValue: "value", FieldLabels: "labels",
	FieldPatchKind: "patchKind", FieldMessage: "message",
}

// String is the JSON name of the field.
func (f Field) String() string { return fieldNames[f] }

// Row is what a debrief may need of one event: the members of [Field] as
// undecoded tokens of the line. They are decoded when asked for, by the same
// judge that [Decode] uses, so that both always agree. A Row shares the memory
// of its Record.
type Row struct {
	kind  Kind
	place Place
	line  []byte
	// tokens are the ranges of the values in line; {0,0} is absent.
	tokens [numFields]token
}

type token struct{ start, end uint32 }

// Kind is the kind of the event, aliases resolved.
func (r *Row) Kind() Kind { return r.kind }

// Place says where the line stands.
func (r *Row) Place() Place { return r.place }

// RowOf picks out of a record what a debrief may need. The error is ErrNoKind.
func RowOf(rec Record) (Row, error) {
	r := Row{place: rec.place, line: rec.line}
	kindSeen := false
	walkMembers(rec.line, func(name []byte, start, end int) {
		if !kindSeen && string(name) == "kind" {
			kindSeen = true
			if v := gjson.ParseBytes(rec.line[start:end]); v.Type == gjson.String {
				r.kind = Kind(v.String()).canonical()
			}
			return
		}
		if f, ok := fieldOf(name); ok && r.tokens[f] == (token{}) {
			r.tokens[f] = token{uint32(start), uint32(end)}
		}
	})
	if r.kind == "" {
		return Row{}, ErrNoKind
	}
	return r, nil
}

// Raw is the JSON of the field as the line has it, nil when it is absent.
func (r *Row) Raw(f Field) []byte {
	if !r.Has(f) {
		return nil
	}
	t := r.tokens[f]
	return r.line[t.start:t.end:t.end]
}

// Has reports whether the line has the field, even as null.
func (r *Row) Has(f Field) bool { return r.tokens[f] != token{} }

// Str gives a string, "" when it is absent or of another type.
func (r *Row) Str(f Field) string { return value[string](r, f) }

// Bool gives a truth value, false when it is absent or of another type.
func (r *Row) Bool(f Field) bool { return value[bool](r, f) }

// Int gives a whole number, 0 when it is absent or of another type.
func (r *Row) Int(f Field) int64 { return value[int64](r, f) }

// Iter gives the iteration, NoIter when it is absent or no whole number.
func (r *Row) Iter() int {
	if n := r.OptInt(FieldIter); n != nil {
		return int(*n)
	}
	return NoIter
}

// OptInt gives a whole number, nil when it is absent or of another type.
func (r *Row) OptInt(f Field) *int64 { return value[*int64](r, f) }

// OptFloat gives a number, nil when it is absent or of another type.
func (r *Row) OptFloat(f Field) *float64 { return value[*float64](r, f) }

// OptBool gives a truth value, nil when it is absent or of another type.
func (r *Row) OptBool(f Field) *bool { return value[*bool](r, f) }

// Rationale gives a rationale, nil when it is absent or unreadable.
func (r *Row) Rationale(f Field) *rationale.Rationale { return value[*rationale.Rationale](r, f) }

// Origin gives an origin, nil when it is absent or unreadable.
func (r *Row) Origin(f Field) *rationale.Origin { return value[*rationale.Origin](r, f) }

// Alternatives gives the options of an alternatives-considered event.
func (r *Row) Alternatives() []rationale.Alternative {
	return value[[]rationale.Alternative](r, FieldAlternatives)
}

// TokenCounts gives the parts of a run-completed event's tokens.
func (r *Row) TokenCounts() *Tokens { return value[*Tokens](r, FieldTokens) }

// ImportedFrom gives the transcript that the run was read from, nil when it was
// not.
func (r *Row) ImportedFrom() *ImportSource { return value[*ImportSource](r, FieldImportedFrom) }

// Labels gives the labels of a metric.
func (r *Row) Labels() map[string]string { return value[map[string]string](r, FieldLabels) }

// value decodes a token with the judge of [Decode].
func value[T any](r *Row, f Field) (v T) {
	if raw := r.Raw(f); len(raw) > 0 {
		assign(reflect.ValueOf(&v).Elem(), gjson.ParseBytes(raw))
	}
	return v
}
