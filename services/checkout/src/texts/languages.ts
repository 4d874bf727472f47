interface LanguageEntry {
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
  /** Separators of thousands and of decimals, with Latin digits (Unicode CLDR). */
  readonly group: string;
  readonly point: string;
}

export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr', group: ',', point: '.' },
  ar: { name: 'العربية', direction: 'rtl', group: ',', point: '.' },
  de: { name: 'Deutsch', direction: 'ltr', group: '.', point: ',' },
  es: { name: 'Español', direction: 'ltr', group: '.', point: ',' },
  fa: { name: 'فارسی', direction: 'rtl', group: ',', point: '.' },
  fr: { name: 'Français', direction: 'ltr', group: '\u202f', point: ',' },
  id: { name: 'Bahasa Indonesia', direction: 'ltr', group: '.', point: ',' },
  pt: { name: 'Português', direction: 'ltr', group: '.', point: ',' },
  ru: { name: 'Русский', direction: 'ltr', group: '\u00a0', point: ',' },
  tr: { name: 'Türkçe', direction: 'ltr', group: '.', point: ',' },
  vi: { name: 'Tiếng Việt', direction: 'ltr', group: '.', point: ',' },
  zh: { name: '简体中文', direction: 'ltr', group: ',', point: '.' },
} as const satisfies Readonly<Record<string, LanguageEntry>>;

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
