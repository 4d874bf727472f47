import { asNumberLexeme, type JsonValue } from '@opentill/contracts/signing/json-value';

/** Longest part of a request that a detail repeats. */
const QUOTED_CHARACTERS = 40;
const CUT = '...';
/** Longest list of allowed values. */
const LISTED_VALUES = 12;

/** The text between quotation marks, in printable ASCII: other characters are escaped, and a long text is cut. */
export function quote(text: string): string {
  const escaped = text
    .slice(0, QUOTED_CHARACTERS + 1)
    .replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const isLong = escaped.length > QUOTED_CHARACTERS;
  return `'${isLong ? `${escaped.slice(0, QUOTED_CHARACTERS - CUT.length)}${CUT}` : escaped}'`;
}

export function oneOf(values: readonly string[], listedMax = LISTED_VALUES): string {
  if (values.length === 0) return 'none is configured';
  const more = values.length - listedMax;
  const listed = values.slice(0, listedMax).join(', ');
  return `one of ${listed}${more > 0 ? ` and ${more} more` : ''}`;
}

export function isBlank(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

/** Detail of a field that is absent or has another JSON type than expected. */
export function wrongType(field: string, value: JsonValue | undefined, expected: string): string {
  return `${field}: ${isBlank(value) ? 'is missing' : `is ${jsonType(value)}`}; ${expected}`;
}

function jsonType(value: JsonValue | undefined): string {
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (asNumberLexeme(value) !== undefined) return 'a number';
  return Array.isArray(value) ? 'a list' : 'an object';
}
