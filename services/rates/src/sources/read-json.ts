import {
  asArray,
  asNumberLexeme,
  asObject,
  readMember,
  type JsonValue,
} from '@opentill/contracts/signing/json-value';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import { parseRatio, type Ratio } from '@opentill/domain/ratio';
import { unreadable } from './source.ts';

/** Keeps numbers as their literals. @throws GatewayError BODY_NOT_JSON */
export function readJson(body: string): JsonValue | undefined {
  return readMember(tokenizeJson(Buffer.from(`{"answer":${body}}`)), 'answer');
}

/** Follows names of members and positions in arrays; undefined where one is missing. */
export function at(
  value: JsonValue | undefined,
  ...path: readonly (string | number)[]
): JsonValue | undefined {
  let found = value;
  for (const step of path) {
    found = typeof step === 'number' ? asArray(found)?.[step] : asObject(found)?.get(step);
  }
  return found;
}

/** A price as a string or a number. @throws GatewayError SOURCE_ANSWER_UNREADABLE */
export function priceAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): Ratio {
  const found = at(value, ...path);
  const text = typeof found === 'string' ? found : asNumberLexeme(found);
  const price = text === undefined ? undefined : parseRatio(text);
  if (price === undefined) throw unreadable(path.join('.'));
  return price;
}
