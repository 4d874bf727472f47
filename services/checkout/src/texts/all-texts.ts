import { ar } from './ar.ts';
import { de } from './de.ts';
import { en, type Texts } from './en.ts';
import { es } from './es.ts';
import { fa } from './fa.ts';
import { fr } from './fr.ts';
import { id } from './id.ts';
import type { Language } from './languages.ts';
import { pt } from './pt.ts';
import { ru } from './ru.ts';
import { tr } from './tr.ts';
import { vi } from './vi.ts';
import { zh } from './zh.ts';

/** The server needs all. The page loads only one language. */
export const ALL_TEXTS: Readonly<Record<Language, Texts>> = {
  en,
  ar,
  de,
  es,
  fa,
  fr,
  id,
  pt,
  ru,
  tr,
  vi,
  zh,
};
