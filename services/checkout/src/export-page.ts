import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentPolicy } from './content-policy.ts';
import { servedFiles, type ServedPage } from './page-assets.ts';
import type { LoadedTheme } from './read-theme.ts';
import { ALL_TEXTS } from './texts/all-texts.ts';
import { createSay } from './texts/create-say.ts';
import { renderEmptyDocument } from './view/render-document.ts';
import { themeStyle } from './view/theme.ts';

export interface ExportRequest extends LoadedTheme, ServedPage {
  /** `https://pay.example.com`. The gateway's CORS_ORIGINS must contain the page's origin. */
  readonly apiUrl: string;
  readonly folder: string;
}

/** CHECKOUT_BASE_URL must point to the host. The page needs scripts, and reads its order from the API. */
export async function exportPage(request: ExportRequest): Promise<void> {
  const { assets, theme, logo, apiUrl, walletConnect, folder } = request;
  const files = servedFiles(request);
  const url = (name: string) => `assets/${name}`;
  const api = new URL(apiUrl);
  const style = assets.style + themeStyle(theme);
  const brand = { name: theme.name, logoUrl: logo === null ? null : url(logo.name) };
  const html = renderEmptyDocument(
    {
      language: 'en',
      say: createSay('en', ALL_TEXTS.en),
      theme: { ...theme, ...brand },
      style,
      baseUrl: null,
      scripts: { main: url(assets.script), ahead: assets.shared.map(url) },
      policy: contentPolicy({
        style,
        scripts: true,
        chains: undefined,
        relayUrl: walletConnect?.relayUrl,
        apiOrigin: api.origin,
      }),
    },
    { apiBase: api.href.replace(/\/$/, ''), language: null, order: null, brand, walletConnect },
  );
  await mkdir(join(folder, 'assets'), { recursive: true });
  for (const { name, body } of files) await writeFile(join(folder, 'assets', name), body);
  await writeFile(join(folder, 'index.html'), html);
  await writeFile(join(folder, assets.notices.name), assets.notices.body);
}
