import { endOf, findMember, startOf, type JsonDocument } from './json-document.ts';
import { findEdits, findGaps, withoutWhiteSpace, writeText, type Edits } from './respell-data.ts';
import { byCodePoint, layOut, layOutSorted, listKeyOrders, type Layout } from './sort-members.ts';
import { DIALECTS } from './spelling.ts';

/** A text that the sender may have signed; every form has the meaning of the received `data`. */
export interface DataForm {
  /** `as-received`, `compact` or a dialect's name, with `+sorted…` if the keys are sorted. For logs. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Lists are built on first use and kept. No list contains a text twice. */
export interface DataForms {
  /** The received bytes and, if different, the tokens without white space between them. */
  literal(): readonly DataForm[];
  /** The tokens with strings spelled as in each dialect, and all of these with sorted keys. */
  respelled(): readonly DataForm[];
}

/**
 * Limits of the work for one body, far above any request of this API. Beyond a limit only the received bytes and the
 * tokens without white space are tried.
 */
export const FORM_LIMITS = {
  /** Maximum length of received `data` that is respelled and sorted. */
  dataBytes: 8_192,
  /** Maximum characters on which serialisers may differ, plus runs of white space. */
  edits: 1_024,
  /** Maximum members of all objects together that are sorted. */
  members: 64,
  /** Maximum cost of all respelled forms together, in the units of `COSTS`, about nanoseconds. */
  cost: 135_000,
} as const;

/** Cost of writing and signing a form: fixed, per byte and per edit; and of sorting per member. */
const COSTS = { form: 2_500, byte: 1.1, edit: 14, member: 500 } as const;

const NONE: readonly DataForm[] = [];

/** Forms of the top-level member `data`; none if there is no such member. */
export function createDataForms(document: JsonDocument): DataForms {
  const token = findMember(document, 'data');
  if (token === undefined) return { literal: () => NONE, respelled: () => NONE };
  let literal: readonly DataForm[] | undefined;
  let respelled: readonly DataForm[] | undefined;
  const listLiteral = (): readonly DataForm[] => (literal ??= makeLiteral(document, token));
  return {
    literal: listLiteral,
    respelled: () => (respelled ??= makeRespelled(document, token, listLiteral())),
  };
}

/**
 * Keys sorted by code point at every level, strings as JSON.stringify spells them, number literals kept, no white
 * space. @throws RangeError if there is no member `data`
 */
export function canonicalData(document: JsonDocument): Buffer {
  const token = findMember(document, 'data');
  const edits = token === undefined ? undefined : findEdits(document, token, Number.POSITIVE_INFINITY);
  if (token === undefined || edits === undefined) throw new RangeError('The document has no member data.');
  return writeText(document.bytes, layOutSorted(document, token, byCodePoint), edits, 0);
}

function makeLiteral(document: JsonDocument, token: number): readonly DataForm[] {
  const received = document.bytes.subarray(startOf(document, token), endOf(document, token));
  const asReceived: DataForm = { name: 'as-received', bytes: received };
  const compact = withoutWhiteSpace(document, token);
  return compact === undefined ? [asReceived] : [asReceived, { name: 'compact', bytes: compact }];
}

function makeRespelled(
  document: JsonDocument,
  token: number,
  literal: readonly DataForm[],
): readonly DataForm[] {
  if ((literal[0]?.bytes.length ?? 0) > FORM_LIMITS.dataBytes) return NONE;
  const edits = findEdits(document, token, FORM_LIMITS.edits);
  if (edits === undefined) return NONE;
  const forms: DataForm[] = [];
  let cost = 0;
  const add = (name: string, layout: Layout, changes: Edits, differences: number): boolean => {
    const bytes = writeText(document.bytes, layout, changes, differences);
    cost += COSTS.form + COSTS.byte * bytes.length + COSTS.edit * changes.starts.length;
    if (cost > FORM_LIMITS.cost) return false;
    if (!hasText(literal, bytes) && !hasText(forms, bytes)) forms.push({ name, bytes });
    return true;
  };
  const dialects = listDialects(edits);
  const addDialects = (suffix: string, layout: Layout): boolean =>
    dialects.every(({ name, differences }) => add(`${name}${suffix}`, layout, edits, differences));

  if (!addDialects('', layOut(document, token))) return forms;
  const gaps = findGaps(document, token);
  const { members, orders } = listKeyOrders(document, token, FORM_LIMITS.members);
  for (const { name, order } of orders) {
    cost += COSTS.member * members;
    const layout = layOutSorted(document, token, order);
    if (layout.length === 2) continue;
    if (!add(`compact+${name}`, layout, gaps, 0) || !addDialects(`+${name}`, layout)) return forms;
  }
  return forms;
}

function listDialects(edits: Edits): readonly { readonly name: string; readonly differences: number }[] {
  if (edits.characters === 0) return [];
  const seen = new Set<number>();
  return DIALECTS.filter(({ differences }) => {
    const shown = differences & edits.differences;
    if (seen.has(shown)) return false;
    seen.add(shown);
    return true;
  });
}

function hasText(forms: readonly DataForm[], bytes: Buffer): boolean {
  return forms.some((form) => form.bytes.length === bytes.length && bytes.equals(form.bytes));
}
