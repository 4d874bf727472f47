import type { Texts } from '../texts/en.ts';
import type { Language } from '../texts/languages.ts';

/** A page loads only the chunk of its language. */
const LOADERS: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => (await import('../texts/en.ts')).en,
  ar: async () => (await import('../texts/ar.ts')).ar,
  bg: async () => (await import('../texts/bg.ts')).bg,
  bn: async () => (await import('../texts/bn.ts')).bn,
  cs: async () => (await import('../texts/cs.ts')).cs,
  da: async () => (await import('../texts/da.ts')).da,
  de: async () => (await import('../texts/de.ts')).de,
  el: async () => (await import('../texts/el.ts')).el,
  es: async () => (await import('../texts/es.ts')).es,
  fa: async () => (await import('../texts/fa.ts')).fa,
  fi: async () => (await import('../texts/fi.ts')).fi,
  fil: async () => (await import('../texts/fil.ts')).fil,
  fr: async () => (await import('../texts/fr.ts')).fr,
  he: async () => (await import('../texts/he.ts')).he,
  hi: async () => (await import('../texts/hi.ts')).hi,
  hr: async () => (await import('../texts/hr.ts')).hr,
  hu: async () => (await import('../texts/hu.ts')).hu,
  id: async () => (await import('../texts/id.ts')).id,
  it: async () => (await import('../texts/it.ts')).it,
  ja: async () => (await import('../texts/ja.ts')).ja,
  kk: async () => (await import('../texts/kk.ts')).kk,
  ko: async () => (await import('../texts/ko.ts')).ko,
  ms: async () => (await import('../texts/ms.ts')).ms,
  nb: async () => (await import('../texts/nb.ts')).nb,
  nl: async () => (await import('../texts/nl.ts')).nl,
  pl: async () => (await import('../texts/pl.ts')).pl,
  pt: async () => (await import('../texts/pt.ts')).pt,
  ro: async () => (await import('../texts/ro.ts')).ro,
  ru: async () => (await import('../texts/ru.ts')).ru,
  sk: async () => (await import('../texts/sk.ts')).sk,
  sr: async () => (await import('../texts/sr.ts')).sr,
  sv: async () => (await import('../texts/sv.ts')).sv,
  sw: async () => (await import('../texts/sw.ts')).sw,
  th: async () => (await import('../texts/th.ts')).th,
  tr: async () => (await import('../texts/tr.ts')).tr,
  uk: async () => (await import('../texts/uk.ts')).uk,
  ur: async () => (await import('../texts/ur.ts')).ur,
  uz: async () => (await import('../texts/uz.ts')).uz,
  vi: async () => (await import('../texts/vi.ts')).vi,
  zh: async () => (await import('../texts/zh.ts')).zh,
};

export function loadTexts(language: Language): Promise<Texts> {
  return LOADERS[language]();
}
