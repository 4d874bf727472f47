import { isChain, type Chain } from '@opentill/domain/chains';
import { usage } from '../../context.ts';

const LIMIT_MAX = 10_000;

export function parseChain(text: string): Chain;
export function parseChain(text: string | undefined): Chain | undefined;
export function parseChain(text: string | undefined): Chain | undefined {
  if (text === undefined || isChain(text)) return text;
  throw usage(`${text} is not a chain value.`);
}

export function readLimit(text: string): number {
  const limit = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && limit > 0 && limit <= LIMIT_MAX) return limit;
  throw usage(`--limit must be a number from 1 to ${LIMIT_MAX}.`);
}

export interface ShowOptions {
  readonly all?: boolean;
  readonly chain?: string;
}

export function shownOf({ all, chain }: ShowOptions) {
  return { chain: parseChain(chain), open: all === true ? undefined : true };
}

export function parseEnum<const W extends readonly string[]>(
  option: string,
  text: string,
  words: W,
): W[number];
export function parseEnum<const W extends readonly string[]>(
  option: string,
  text: string | undefined,
  words: W,
): W[number] | undefined;
export function parseEnum<const W extends readonly string[]>(
  option: string,
  text: string | undefined,
  words: W,
): W[number] | undefined {
  const word = text?.toUpperCase();
  const found = words.find((known): known is W[number] => known === word);
  if (found !== undefined || word === undefined) return found;
  throw usage(`${option} must be one of ${words.join(', ')}.`);
}
