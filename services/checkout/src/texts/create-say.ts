import type { TextName, Texts } from './en.ts';
import { LANGUAGES, type Language } from './languages.ts';

export interface Say {
  /** Fills in `{names}`. A name without a value stays visible, which a test detects. */
  (name: TextName, values?: Readonly<Record<string, string>>): string;
  /** `1,234.50 USDT` of the exact decimal `1234.50`: grouped as in the language, and never broken apart. */
  money(amount: string, symbol: string): string;
  figure(amount: string): string;
}

/** Left-to-right isolate: amounts and names keep their order within right-to-left text. */
const [ISOLATE, END_OF_ISOLATE] = ['\u2066', '\u2069'];
const NO_BREAK_SPACE = '\u00a0';

export function createSay(language: Language, texts: Texts): Say {
  const { direction, group, point } = LANGUAGES[language];
  const figure = (amount: string): string => {
    const [whole = '', decimals] = amount.split('.');
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
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
    money: (amount: string, symbol: string) => `${figure(amount)}${NO_BREAK_SPACE}${symbol}`,
  });
}
