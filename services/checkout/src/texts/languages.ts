export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr' },
  ar: { name: 'العربية', direction: 'rtl' },
  de: { name: 'Deutsch', direction: 'ltr' },
  es: { name: 'Español', direction: 'ltr' },
  fa: { name: 'فارسی', direction: 'rtl' },
  fr: { name: 'Français', direction: 'ltr' },
  id: { name: 'Bahasa Indonesia', direction: 'ltr' },
  pt: { name: 'Português', direction: 'ltr' },
  ru: { name: 'Русский', direction: 'ltr' },
  tr: { name: 'Türkçe', direction: 'ltr' },
  vi: { name: 'Tiếng Việt', direction: 'ltr' },
  zh: { name: '简体中文', direction: 'ltr' },
} as const satisfies Readonly<Record<string, { name: string; direction: 'ltr' | 'rtl' }>>;

export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_VALUES = Object.keys(LANGUAGES) as readonly Language[];

export function isLanguage(value: unknown): value is Language {
  return typeof value === 'string' && Object.hasOwn(LANGUAGES, value);
}

/** Returns the first supported language, or English. `tags` are in order of preference (`pt-BR`, `de`). */
export function preferredLanguage(tags: readonly string[]): Language {
  for (const tag of tags) {
    const [language] = tag.trim().toLowerCase().split(/[-_]/);
    if (isLanguage(language)) return language;
    if (language === 'in') return 'id'; // Indonesian on old Android
  }
  return 'en';
}

/** Tags of an `Accept-Language` header by descending preference. A weight of 0 excludes a language. */
export function acceptedLanguages(header: string): readonly string[] {
  return header
    .slice(0, 500)
    .split(',')
    .map((entry, index) => {
      const [tag = '', ...parameters] = entry.split(';');
      const weight = parameters.map((each) => /^\s*q=([\d.]+)\s*$/.exec(each)?.[1]).find(Boolean);
      return { tag: tag.trim(), weight: weight === undefined ? 1 : Number(weight), index };
    })
    .filter(({ tag, weight }) => tag !== '' && weight > 0)
    .toSorted((a, b) => b.weight - a.weight || a.index - b.index)
    .map(({ tag }) => tag);
}
