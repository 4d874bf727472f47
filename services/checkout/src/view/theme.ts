import { LANGUAGES, type Language } from '../texts/languages.ts';

export interface Theme {
  /** Shown above the card; empty for none. */
  readonly name: string;
  readonly logoUrl: string | null;
  /** `#rrggbb` of buttons and progress, in light and dark mode. */
  readonly accent: string;
  readonly accentDark: string;
}

export const PLAIN_THEME: Theme = { name: '', logoUrl: null, accent: '#0b6e4f', accentDark: '#3fc593' };

const COLOUR = /^#[0-9a-f]{6}$/i;

export function isColour(text: unknown): text is string {
  return typeof text === 'string' && COLOUR.test(text);
}

/** Text on the accent is black or white, with a contrast of at least 4.5 to 1. */
export function themeStyle({ accent, accentDark }: Pick<Theme, 'accent' | 'accentDark'>): string {
  const rule = (colour: string) => `:root{--accent:${colour};--on-accent:${readableOn(colour)}}`;
  return `${rule(accent)}@media(prefers-color-scheme:dark){${rule(accentDark)}}`;
}

/** Compares contrasts according to WCAG 2 (relative luminance). */
export function readableOn(colour: string): '#000' | '#fff' {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 ? '#fff' : '#000';
}

/** The merchant's accent takes the place of the gateway's. */
export function themeOf(
  theme: Omit<Theme, 'logoUrl'>,
  merchantAccent: string | null | undefined,
): Omit<Theme, 'logoUrl'> {
  return isColour(merchantAccent) ? { ...theme, accent: merchantAccent, accentDark: merchantAccent } : theme;
}

export function directionOf(language: Language): 'ltr' | 'rtl' {
  return LANGUAGES[language].direction;
}
