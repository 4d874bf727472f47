import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { PageAsset } from './page-assets.ts';
import { isColour, PLAIN_THEME, type Theme } from './view/theme.ts';

export type ReadThemeErrorCode =
  /** The message lists every mistake. */
  'CHECKOUT_THEME_INVALID';

export interface LoadedTheme {
  readonly theme: Omit<Theme, 'logoUrl'>;
  readonly logo: PageAsset | null;
}

const LOGO_TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
};
const LOGO_BYTES_MAX = 128 * 1024;
const NAME_LENGTH_MAX = 60;
const MEMBERS = ['name', 'logo', 'accent', 'accentDark'];

/** JSON with `name`, `logo` (path relative to the file), `accent` and `accentDark` (`#rrggbb`), all optional. */
export async function readTheme(file: string | undefined): Promise<LoadedTheme> {
  if (file === undefined) return { theme: PLAIN_THEME, logo: null };
  const given = await readMembers(file);
  const { name = PLAIN_THEME.name, logo, accent = PLAIN_THEME.accent, accentDark } = given;
  const problems = [
    ...Object.keys(given)
      .filter((member) => !MEMBERS.includes(member))
      .map((member) => `${member} is not a known member`),
    ...(typeof name === 'string' && name.length <= NAME_LENGTH_MAX
      ? []
      : [`name must be a text of at most ${NAME_LENGTH_MAX} characters`]),
    ...(isColour(accent) ? [] : ['accent must have the form #rrggbb']),
    ...(accentDark === undefined || isColour(accentDark) ? [] : ['accentDark must have the form #rrggbb']),
    ...(logo === undefined || (typeof logo === 'string' && extname(logo).toLowerCase() in LOGO_TYPES)
      ? []
      : [`logo must be a file of type ${Object.keys(LOGO_TYPES).join(', ')}`]),
  ];
  if (problems.length > 0) throw invalid(file, problems.join('; '));
  const dark = accentDark ?? (given['accent'] === undefined ? PLAIN_THEME.accentDark : accent);
  return {
    theme: { name: name as string, accent: accent as string, accentDark: dark as string },
    logo: logo === undefined ? null : await readLogo(file, logo as string),
  };
}

async function readMembers(file: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw invalid(file, 'it is not a readable JSON file', cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(file, 'it must contain a JSON object');
  return value as Record<string, unknown>;
}

async function readLogo(themeFile: string, path: string): Promise<PageAsset> {
  const file = resolve(dirname(themeFile), path);
  const body = await readFile(file).catch((cause: unknown) => {
    throw invalid(themeFile, `logo ${file} cannot be read`, cause);
  });
  if (body.length > LOGO_BYTES_MAX) throw invalid(themeFile, `logo has more than ${LOGO_BYTES_MAX} bytes`);
  const extension = extname(file).toLowerCase();
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 8);
  return { name: `logo-${hash}${extension}`, body, contentType: LOGO_TYPES[extension] ?? '' };
}

function invalid(file: string, problem: string, cause?: unknown): GatewayError<ReadThemeErrorCode> {
  return new GatewayError('CHECKOUT_THEME_INVALID', `theme ${file}: ${problem}`, { retryable: false, cause });
}
