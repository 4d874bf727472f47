import type { Texts } from '../texts/en.ts';
import type { Language } from '../texts/languages.ts';

/** A page loads only the chunk of its language. */
const LOADERS: Readonly<Record<Language, () => Promise<Readonly<Record<string, Texts>>>>> = {
  en: async () => import('../texts/en.ts'),
  ar: async () => import('../texts/ar.ts'),
  bg: async () => import('../texts/bg.ts'),
  bn: async () => import('../texts/bn.ts'),
  cs: async () => import('../texts/cs.ts'),
  da: async () => import('../texts/da.ts'),
  de: async () => import('../texts/de.ts'),
  el: async () => import('../texts/el.ts'),
  es: async () => import('../texts/es.ts'),
  fa: async () => import('../texts/fa.ts'),
  fi: async () => import('../texts/fi.ts'),
  fil: async () => import('../texts/fil.ts'),
  fr: async () => import('../texts/fr.ts'),
  he: async () => import('../texts/he.ts'),
  hi: async () => import('../texts/hi.ts'),
  hr: async () => import('../texts/hr.ts'),
  hu: async () => import('../texts/hu.ts'),
  id: async () => import('../texts/id.ts'),
  it: async () => import('../texts/it.ts'),
  ja: async () => import('../texts/ja.ts'),
  kk: async () => import('../texts/kk.ts'),
  ko: async () => import('../texts/ko.ts'),
  ms: async () => import('../texts/ms.ts'),
  nb: async () => import('../texts/nb.ts'),
  nl: async () => import('../texts/nl.ts'),
  pl: async () => import('../texts/pl.ts'),
  pt: async () => import('../texts/pt.ts'),
  ro: async () => import('../texts/ro.ts'),
  ru: async () => import('../texts/ru.ts'),
  sk: async () => import('../texts/sk.ts'),
  sr: async () => import('../texts/sr.ts'),
  sv: async () => import('../texts/sv.ts'),
  sw: async () => import('../texts/sw.ts'),
  th: async () => import('../texts/th.ts'),
  tr: async () => import('../texts/tr.ts'),
  uk: async () => import('../texts/uk.ts'),
  ur: async () => import('../texts/ur.ts'),
  uz: async () => import('../texts/uz.ts'),
  vi: async () => import('../texts/vi.ts'),
  zh: async () => import('../texts/zh.ts'),
};

/** A module of texts has one export. */
export async function loadTexts(language: Language): Promise<Texts> {
  const [texts] = Object.values(await LOADERS[language]());
  if (texts === undefined) throw new Error(`no texts in ${language}`);
  return texts;
}
