import { ar } from './ar.ts';
import { bg } from './bg.ts';
import { bn } from './bn.ts';
import { cs } from './cs.ts';
import { da } from './da.ts';
import { de } from './de.ts';
import { el } from './el.ts';
import { en, type Texts } from './en.ts';
import { es } from './es.ts';
import { fa } from './fa.ts';
import { fi } from './fi.ts';
import { fil } from './fil.ts';
import { fr } from './fr.ts';
import { he } from './he.ts';
import { hi } from './hi.ts';
import { hr } from './hr.ts';
import { hu } from './hu.ts';
import { id } from './id.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { kk } from './kk.ts';
import { ko } from './ko.ts';
import type { Language } from './languages.ts';
import { ms } from './ms.ts';
import { nb } from './nb.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import { ro } from './ro.ts';
import { ru } from './ru.ts';
import { sk } from './sk.ts';
import { sr } from './sr.ts';
import { sv } from './sv.ts';
import { sw } from './sw.ts';
import { th } from './th.ts';
import { tr } from './tr.ts';
import { uk } from './uk.ts';
import { ur } from './ur.ts';
import { uz } from './uz.ts';
import { vi } from './vi.ts';
import { zh } from './zh.ts';

/** The server needs all. The page loads only one language. */
export const ALL_TEXTS: Readonly<Record<Language, Texts>> = {
  en,
  ar,
  bg,
  bn,
  cs,
  da,
  de,
  el,
  es,
  fa,
  fi,
  fil,
  fr,
  he,
  hi,
  hr,
  hu,
  id,
  it,
  ja,
  kk,
  ko,
  ms,
  nb,
  nl,
  pl,
  pt,
  ro,
  ru,
  sk,
  sr,
  sv,
  sw,
  th,
  tr,
  uk,
  ur,
  uz,
  vi,
  zh,
};
