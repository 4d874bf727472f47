import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTheme } from './read-theme.ts';
import { PLAIN_THEME } from './view/theme.ts';

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'opentill-theme-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (value: unknown): string => {
  const file = join(folder, 'theme.json');
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
};

test('returns the plain theme without a file', async () => {
  expect(await readTheme(undefined)).toEqual({ theme: PLAIN_THEME, logo: null });
});

test('reads name, colours and the logo next to the file', async () => {
  writeFileSync(join(folder, 'logo.svg'), '<svg/>');
  const file = write({ name: 'Tea & Co', logo: 'logo.svg', accent: '#112233' });
  const { theme, logo } = await readTheme(file);
  expect(theme).toEqual({ name: 'Tea & Co', accent: '#112233', accentDark: '#112233' });
  expect(logo).toMatchObject({ contentType: 'image/svg+xml', body: Buffer.from('<svg/>') });
  expect(logo!.name).toMatch(/^logo-[0-9a-f]{8}\.svg$/);
});

test.each([
  ['{', /readable JSON file/],
  [[], /JSON object/],
  [
    { name: 'x'.repeat(61), accent: 'red', logo: 'a.exe', color: 1 },
    /color is not a known member; name.*; accent.*; logo/,
  ],
  [{ accent: '#12345g' }, /accent/],
  [{ logo: 'none.png' }, /cannot be read/],
])('rejects the theme %j', async (value, message) => {
  await expect(readTheme(write(value))).rejects.toThrow(message);
});
