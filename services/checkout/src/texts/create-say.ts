import type { TextName, Texts } from './en.ts';
import { LANGUAGES, type Language, type LanguageEntry } from './languages.ts';

export interface Say {
  /** Fills in `{names}`. A name without a value stays visible, which a test detects. */
  (name: TextName, values?: Readonly<Record<string, string>>): string;
  /** `1,234.50 USDT` of the exact decimal `1234.50`: grouped as in the language, and never broken apart. */
  money(amount: string, symbol: string): string;
  figure(amount: string): string;
  /** `23 November 2026, 20:14 UTC`, with Latin digits like all figures. */
  time(unixSeconds: number, timeZone: string): string;
}

/** Left-to-right isolate: amounts and names keep their order within right-to-left text. */
const [ISOLATE, END_OF_ISOLATE] = ['\u2066', '\u2069'];
const TIME_FORMAT = {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
  hourCycle: 'h23',
} as const;
const NO_BREAK_SPACE = '\u00a0';

export function createSay(language: Language, texts: Texts): Say {
  const { direction, group, point, lakh }: LanguageEntry = LANGUAGES[language];
  const beforeGroups = lakh ? /\B(?=(\d{2})*\d{3}$)/g : /\B(?=(\d{3})+$)/g;
  const figure = (amount: string): string => {
    const [whole = '', decimals] = amount.split('.');
    const grouped = whole.replace(beforeGroups, group);
    return decimals === undefined ? grouped : `${grouped}${point}${decimals}`;
  };
  const say = (name: TextName, values: Readonly<Record<string, string>> = {}): string =>
    texts[name].replace(/\{(\w+)\}/g, (found, key: string) => {
      const value = values[key];
      if (value === undefined) return found;
      return direction === 'rtl' ? `${ISOLATE}${value}${END_OF_ISOLATE}` : value;
    });
  return Object.assign(say, {
    figure,
    time: (unixSeconds: number, timeZone: string) =>
      new Intl.DateTimeFormat(`${language}-u-ca-gregory-nu-latn`, { ...TIME_FORMAT, timeZone }).format(
        unixSeconds * 1000,
      ),
    money: (amount: string, symbol: string) => `${figure(amount)}${NO_BREAK_SPACE}${symbol}`,
  });
}
