import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { readJson } from '@opentill/domain/read-json';
import { POLICY_SCHEMA, type PolicyFile } from './policy-schema.ts';
import { invalidPolicy } from './invalid-policy.ts';

const STRINGS = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** Checks only the schema. Throws POLICY_INVALID with all mistakes. */
export function readPolicyFile(text: string): PolicyFile {
  const read = readJson(text);
  if (!read.ok) throw invalidPolicy([read.mistake]);
  const json = read.value;
  const ajv = new Ajv2020({ allErrors: true, strict: true, validateSchema: false }); // a test validates it
  ajvFormats.default(ajv);
  const validate = ajv.compile<PolicyFile>(POLICY_SCHEMA);
  const isValid = validate(json);
  const mistakes = [...(validate.errors ?? [])]
    .filter(({ keyword }) => keyword !== 'propertyNames') // repeats the mistake of the name
    .map(describe);
  // A person sees the first of two equal limits, the parser takes the last.
  const names = [...text.matchAll(STRINGS)].filter(([, colon]) => colon !== undefined).length;
  if (names !== countNames(json)) mistakes.push('an object has the same name twice');
  if (!isValid || mistakes.length > 0) throw invalidPolicy(mistakes);
  return json as PolicyFile;
}

function describe({ instancePath, keyword, message, params, propertyName }: ErrorObject): string {
  const at = instancePath === '' ? '/' : instancePath;
  if (keyword === 'additionalProperties')
    return `${at} must not have ${String(params['additionalProperty'])}`;
  if (propertyName !== undefined) return `${at} must not have ${propertyName}: it is not a chain`;
  if (keyword === 'pattern' && params['pattern'] === 'Z$') return `${at} must end in Z: times are in UTC`;
  return `${at} ${message ?? 'is wrong'}`;
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce<number>((sum, member) => sum + countNames(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}
