import type { TextName, Texts } from './en.ts';
import { LANGUAGES, type Language } from './languages.ts';

/** Fills in `{names}`. A name without a value stays visible, which a test detects. */
export type Say = (name: TextName, values?: Readonly<Record<string, string>>) => string;

/** Left-to-right isolate: amounts and names keep their order within right-to-left text. */
const [ISOLATE, END_OF_ISOLATE] = ['⁦', '⁩'];

export function createSay(language: Language, texts: Texts): Say {
  const rightToLeft = LANGUAGES[language].direction === 'rtl';
  return (name, values = {}) =>
    texts[name].replace(/\{(\w+)\}/g, (found, key: string) => {
      const value = values[key];
      if (value === undefined) return found;
      return rightToLeft ? `${ISOLATE}${value}${END_OF_ISOLATE}` : value;
    });
}
