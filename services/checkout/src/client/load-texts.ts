import type { Texts } from '../texts/en.ts';
import type { Language } from '../texts/languages.ts';

/** A page loads only the chunk of its language. */
const LOADERS: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => (await import('../texts/en.ts')).en,
  ar: async () => (await import('../texts/ar.ts')).ar,
  de: async () => (await import('../texts/de.ts')).de,
  es: async () => (await import('../texts/es.ts')).es,
  fa: async () => (await import('../texts/fa.ts')).fa,
  fr: async () => (await import('../texts/fr.ts')).fr,
  id: async () => (await import('../texts/id.ts')).id,
  pt: async () => (await import('../texts/pt.ts')).pt,
  ru: async () => (await import('../texts/ru.ts')).ru,
  tr: async () => (await import('../texts/tr.ts')).tr,
  vi: async () => (await import('../texts/vi.ts')).vi,
  zh: async () => (await import('../texts/zh.ts')).zh,
};

export function loadTexts(language: Language): Promise<Texts> {
  return LOADERS[language]();
}
