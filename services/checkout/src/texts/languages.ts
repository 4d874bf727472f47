export interface LanguageEntry {
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
  /** Separators of thousands and of decimals, with Latin digits (Unicode CLDR). */
  readonly group: string;
  readonly point: string;
  /** Groups of two digits before the last three, as in 12,34,567. */
  readonly lakh?: true;
}

/** Other tags of these languages. */
const ALIASES: Readonly<Record<string, string>> = { in: 'id', iw: 'he', no: 'nb', nn: 'nb', tl: 'fil' };

export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr', group: ',', point: '.' },
  ar: { name: 'العربية', direction: 'rtl', group: ',', point: '.' },
  bg: { name: 'Български', direction: 'ltr', group: '\u00a0', point: ',' },
  bn: { name: 'বাংলা', direction: 'ltr', group: ',', point: '.', lakh: true },
  cs: { name: 'Čeština', direction: 'ltr', group: '\u00a0', point: ',' },
  da: { name: 'Dansk', direction: 'ltr', group: '.', point: ',' },
  de: { name: 'Deutsch', direction: 'ltr', group: '.', point: ',' },
  el: { name: 'Ελληνικά', direction: 'ltr', group: '.', point: ',' },
  es: { name: 'Español', direction: 'ltr', group: '.', point: ',' },
  fa: { name: 'فارسی', direction: 'rtl', group: ',', point: '.' },
  fi: { name: 'Suomi', direction: 'ltr', group: '\u00a0', point: ',' },
  fil: { name: 'Filipino', direction: 'ltr', group: ',', point: '.' },
  fr: { name: 'Français', direction: 'ltr', group: '\u202f', point: ',' },
  he: { name: 'עברית', direction: 'rtl', group: ',', point: '.' },
  hi: { name: 'हिन्दी', direction: 'ltr', group: ',', point: '.', lakh: true },
  hr: { name: 'Hrvatski', direction: 'ltr', group: '.', point: ',' },
  hu: { name: 'Magyar', direction: 'ltr', group: '\u00a0', point: ',' },
  id: { name: 'Bahasa Indonesia', direction: 'ltr', group: '.', point: ',' },
  it: { name: 'Italiano', direction: 'ltr', group: '.', point: ',' },
  ja: { name: '日本語', direction: 'ltr', group: ',', point: '.' },
  kk: { name: 'Қазақ тілі', direction: 'ltr', group: '\u00a0', point: ',' },
  ko: { name: '한국어', direction: 'ltr', group: ',', point: '.' },
  ms: { name: 'Bahasa Melayu', direction: 'ltr', group: ',', point: '.' },
  nb: { name: 'Norsk bokmål', direction: 'ltr', group: '\u00a0', point: ',' },
  nl: { name: 'Nederlands', direction: 'ltr', group: '.', point: ',' },
  pl: { name: 'Polski', direction: 'ltr', group: '\u00a0', point: ',' },
  pt: { name: 'Português', direction: 'ltr', group: '.', point: ',' },
  ro: { name: 'Română', direction: 'ltr', group: '.', point: ',' },
  ru: { name: 'Русский', direction: 'ltr', group: '\u00a0', point: ',' },
  sk: { name: 'Slovenčina', direction: 'ltr', group: '\u00a0', point: ',' },
  sr: { name: 'Српски', direction: 'ltr', group: '.', point: ',' },
  sv: { name: 'Svenska', direction: 'ltr', group: '\u00a0', point: ',' },
  sw: { name: 'Kiswahili', direction: 'ltr', group: ',', point: '.' },
  th: { name: 'ไทย', direction: 'ltr', group: ',', point: '.' },
  tr: { name: 'Türkçe', direction: 'ltr', group: '.', point: ',' },
  uk: { name: 'Українська', direction: 'ltr', group: '\u00a0', point: ',' },
  ur: { name: 'اردو', direction: 'rtl', group: ',', point: '.' },
  uz: { name: 'O‘zbekcha', direction: 'ltr', group: '\u00a0', point: ',' },
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
    const [first = ''] = tag.trim().toLowerCase().split(/[-_]/);
    const language = Object.hasOwn(ALIASES, first) ? ALIASES[first] : first;
    if (isLanguage(language)) return language;
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
