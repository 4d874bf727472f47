import { expect, test } from 'vitest';
import { decodeTokenSymbol } from './decode-token-symbol.ts';

const word = (value: number): string => value.toString(16).padStart(64, '0');
const text = (value: string): string => Buffer.from(value).toString('hex').padEnd(64, '0');
const encoded = (value: string): string => `0x${word(32)}${word(Buffer.byteLength(value))}${text(value)}`;

test.each<[string, unknown, string | undefined]>([
  ['a string', encoded('USDT'), 'USDT'],
  ['decodes a string with a currency sign', encoded('USD₮0'), 'USD₮0'],
  ['decodes 32 bytes, as old tokens return them', `0x${text('MKR')}`, 'MKR'],
  ['removes characters that control a terminal', encoded('\u001b[31mUSDT\u202e\n'), '[31mUSDT'],
  ['rejects a length beyond the answer', `0x${word(32)}${word(1_000_000)}${text('USDT')}`, undefined],
  ['rejects another offset', `0x${word(64)}${word(4)}${text('USDT')}`, undefined],
  ['nothing', '0x', undefined],
  ['rejects an empty string', `0x${word(32)}${word(0)}`, undefined],
  ['no data', null, undefined],
])('%s', (_, answer, expected) => {
  expect(decodeTokenSymbol(answer)).toBe(expected);
});
