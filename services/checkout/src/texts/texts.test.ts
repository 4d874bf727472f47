import { describe, expect, test } from 'vitest';
import { ALL_TEXTS } from './all-texts.ts';
import { createSay } from './create-say.ts';
import { en, type TextName } from './en.ts';
import { acceptedLanguages, LANGUAGE_VALUES, LANGUAGES, preferredLanguage } from './languages.ts';

const NAMES = Object.keys(en) as TextName[];
const namesIn = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).toSorted();
const SAME_AS_ENGLISH: Readonly<Record<string, readonly string[]>> = {
  fr: ['transaction', 'confirmations'],
};

test('supports forty languages, four of them written from right to left', () => {
  expect(LANGUAGE_VALUES).toHaveLength(40);
  const rightToLeft = LANGUAGE_VALUES.filter((language) => LANGUAGES[language].direction === 'rtl');
  expect(rightToLeft).toEqual(['ar', 'fa', 'he', 'ur']);
});

describe.each(LANGUAGE_VALUES)('%s', (language) => {
  const texts = ALL_TEXTS[language];

  test('has a value for every text', () => {
    expect(Object.keys(texts)).toEqual(NAMES);
    const blank = NAMES.filter((name) => texts[name].trim() === '' || texts[name] !== texts[name].trim());
    expect(blank).toEqual([]);
  });

  test('has the placeholders of the English texts', () => {
    const others = NAMES.filter(
      (name) => namesIn(texts[name]).join() !== [...new Set(namesIn(texts[name]))].join(),
    );
    const wrong = NAMES.filter(
      (name) => [...new Set(namesIn(texts[name]))].join() !== [...new Set(namesIn(en[name]))].join(),
    );
    expect(wrong).toEqual([]);
    // Only a wallet's name may occur twice in one language.
    expect(others.every((name) => name.startsWith('wallet'))).toBe(true);
  });

  // WCAG 2.5.3. Japanese and Chinese are written without spaces.
  test('names each copy button by whole words that include the visible ones', () => {
    if (language === 'ja' || language === 'zh') return;
    const words = (text: string) => ` ${text.toLowerCase().replaceAll(':', '')} `;
    const names = NAMES.filter((name) => /^copy(?!Failed)./.test(name));
    expect(names).toHaveLength(4);
    expect(names.filter((name) => !words(texts[name]).includes(words(texts.copy)))).toEqual([]);
  });

  test('translates every text', () => {
    if (language === 'en') return;
    const same = NAMES.filter((name) => texts[name] === en[name]);
    expect(same).toEqual(SAME_AS_ENGLISH[language] ?? []);
  });

  test('writes every text in its own script', () => {
    const scripts: Readonly<Record<string, RegExp>> = {
      ar: /\p{Script=Arabic}/u,
      bg: /\p{Script=Cyrillic}/u,
      bn: /\p{Script=Bengali}/u,
      el: /\p{Script=Greek}/u,
      fa: /\p{Script=Arabic}/u,
      he: /\p{Script=Hebrew}/u,
      hi: /\p{Script=Devanagari}/u,
      ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
      kk: /\p{Script=Cyrillic}/u,
      ko: /\p{Script=Hangul}/u,
      ru: /\p{Script=Cyrillic}/u,
      sr: /\p{Script=Cyrillic}/u,
      th: /\p{Script=Thai}/u,
      uk: /\p{Script=Cyrillic}/u,
      ur: /\p{Script=Arabic}/u,
      zh: /\p{Script=Han}/u,
    };
    const script = scripts[language] ?? /\p{Script=Latin}/u;
    const proper = NAMES.filter((name) => !script.test(texts[name].replace(/\{\w+\}/g, '')));
    // `{count} / {total}` needs no letters.
    expect(proper.filter((name) => name !== 'countOf')).toEqual([]);
  });
});

test('does not claim that the shop was notified: its callback may still wait', () => {
  expect(en.paidHint).toBe('The shop is notified automatically.');
});

test.each([
  ['en', '12,345,678.50'],
  ['hi', '1,23,45,678.50'],
  ['pl', '12\u00a0345\u00a0678,50'],
] as const)('groups the digits of an amount in %s', (language, text) => {
  expect(createSay(language, ALL_TEXTS[language]).figure('12345678.50')).toBe(text);
});

test('isolates the direction of values in right-to-left text', () => {
  const say = createSay('ar', ALL_TEXTS.ar);
  expect(say('warning', { symbol: 'USDT', chain: 'TRON' })).toContain('⁦USDT⁩');
  expect(createSay('en', en)('countOf', { count: '1', total: '3' })).toBe('1 of 3');
  expect(createSay('en', en)('countOf', { count: '1' })).toBe('1 of {total}');
});

test.each([
  ['', 'en'],
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['en;q=0.1, fa;q=0.7', 'fa'],
  ['tlh, zh-TW;q=0.4', 'zh'],
  ['de;q=0, es', 'es'],
  ['IN', 'id'],
  ['nn-NO', 'nb'],
  ['*', 'en'],
  [`${'x'.repeat(10_000)},de`, 'en'],
  ['constructor', 'en'],
] as const)('picks for Accept-Language %.40s the language %s', (header, language) => {
  expect(preferredLanguage(acceptedLanguages(header))).toBe(language);
});
