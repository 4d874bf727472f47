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

/** `--card` and `--page` of page.css, on which buttons stand. */
export const SURFACES = { light: ['#ffffff', '#f4f6f8'], dark: ['#161b21', '#0c0f13'] } as const;

/** WCAG 2, 1.4.11: shapes that a reader has to recognise. */
const SHAPE_CONTRAST = 3;
const SHADE_STEPS = 20;

export function themeStyle({ accent, accentDark }: Pick<Theme, 'accent' | 'accentDark'>): string {
  const rule = (colour: string) =>
    `:root{${accentValues(colour)
      .map((pair) => pair.join(':'))
      .join(';')}}`;
  return `${rule(accent)}@media(prefers-color-scheme:dark){${rule(accentDark)}}`;
}

/** The custom properties of page.css that follow from an accent colour. */
export function accentValues(colour: string): readonly (readonly [name: string, value: string])[] {
  return [
    ['--accent', colour],
    ['--on-accent', readableOn(colour)],
    ['--edge-in-light', edgeOn(colour, SURFACES.light, 0)],
    ['--edge-in-dark', edgeOn(colour, SURFACES.dark, 255)],
  ];
}

/** Black or white, whichever has more contrast: at least 4.5 to 1 on any colour. */
export function readableOn(colour: string): '#000' | '#fff' {
  return contrast(colour, '#ffffff') >= contrast(colour, '#000000') ? '#fff' : '#000';
}

/** The colour itself, or its nearest shade towards `end` that is visible on every surface. */
function edgeOn(colour: string, surfaces: readonly string[], end: 0 | 255): string {
  for (let step = 0; ; step += 1) {
    const shade = mix(colour, end, step / SHADE_STEPS);
    if (step === SHADE_STEPS || surfaces.every((each) => contrast(shade, each) >= SHAPE_CONTRAST)) {
      return shade;
    }
  }
}

function mix(colour: string, end: number, share: number): string {
  const parts = partsOf(colour).map((part) => Math.round(part + (end - part) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** According to WCAG 2, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function partsOf(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
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
