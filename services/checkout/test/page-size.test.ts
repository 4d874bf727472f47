import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readPageAssets } from '../src/page-assets.ts';
import { LANGUAGE_VALUES } from '../src/texts/languages.ts';

const KILOBYTE = 1_000;
const { files, walletConnect, style, script, texts, shared } = readPageAssets();
const compressedSize = (name: string): number =>
  gzipSync(files.find((file) => file.name === name)!.body, { level: 9 }).length;

test('loads less than 29 kB of compressed JavaScript in any language', () => {
  const own = [script, ...shared].reduce((sum, name) => sum + compressedSize(name), 0);
  for (const language of LANGUAGE_VALUES) {
    expect(own + compressedSize(texts[language])).toBeLessThan(29 * KILOBYTE);
  }
});

test('keeps the code of WalletConnect out of the other files', () => {
  const texts = files.map(({ body }) => body.toString());
  expect(texts.filter((text) => /irn_publish|wc_sessionPropose/.test(text))).toEqual([]);
  expect(walletConnect.some(({ body }) => body.includes('wc_sessionPropose'))).toBe(true);
  const bytes = walletConnect.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  expect(bytes).toBeLessThan(140 * KILOBYTE);
});

test('has a style sheet that loads no resource', () => {
  expect(style.length).toBeLessThan(15 * KILOBYTE);
  expect(style).not.toMatch(/@import|url\(/);
  expect(gzipSync(style, { level: 9 }).length).toBeLessThan(4.2 * KILOBYTE);
});
