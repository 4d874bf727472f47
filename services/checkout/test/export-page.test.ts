import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { exportPage } from '../src/export-page.ts';
import { readPageAssets } from '../src/page-assets.ts';
import { PLAIN_THEME } from '../src/view/theme.ts';

const root = mkdtempSync(join(tmpdir(), 'opentill-export-'));
const assets = readPageAssets();
afterAll(() => rmSync(root, { recursive: true }));

async function exported(name: string, relayUrl?: string) {
  const folder = join(root, name);
  const walletConnect = relayUrl === undefined ? undefined : { projectId: 'abc', relayUrl };
  const page = { theme: PLAIN_THEME, logo: null, assets, walletConnect };
  await exportPage({ ...page, apiUrl: 'https://api.example', folder });
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  return { folder, html, files: readdirSync(join(folder, 'assets')) };
}

test('exports WalletConnect only when it is set, and the licences always', async () => {
  const names = assets.walletConnect.map(({ name }) => name);
  const off = await exported('off');
  expect(off.html).not.toMatch(/walletconnect/i);
  expect(off.files.filter((file) => names.includes(file))).toEqual([]);
  const on = await exported('on', 'wss://relay.example');
  expect(on.html).toContain('connect-src https://api.example https://*.trongrid.io wss://relay.example;');
  expect(on.html).toContain('"walletConnect":{"projectId":"abc","relayUrl":"wss://relay.example"}');
  expect(on.files).toEqual(expect.arrayContaining(names));
  for (const { folder } of [off, on]) {
    expect(readFileSync(join(folder, 'THIRD-PARTY-NOTICES.md'), 'utf8')).toContain('uqr');
  }
});
