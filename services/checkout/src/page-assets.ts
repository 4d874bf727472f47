import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { WalletConnectSettings } from './view/render-document.ts';
import { LANGUAGE_VALUES, type Language } from './texts/languages.ts';

export type PageAssetsErrorCode =
  /** services/checkout is not built: run `pnpm build`. */
  'CHECKOUT_NOT_BUILT';

/** The name contains a hash of the content, so the file may be cached permanently. */
export interface PageAsset {
  readonly name: string;
  readonly body: Buffer;
  readonly contentType: string;
}

export interface PageAssets {
  readonly files: readonly PageAsset[];
  /** Third-party code that connects wallets by WalletConnect. Served only where it is on. */
  readonly walletConnect: readonly PageAsset[];
  /** Licences of the packages in all files. */
  readonly notices: PageAsset;
  /** Inlined, so that the first paint needs no further file. */
  readonly style: string;
  readonly script: string;
  /** Chunks that the script loads at once, in every language. */
  readonly shared: readonly string[];
  readonly texts: Readonly<Record<Language, string>>;
}

export interface ServedPage {
  readonly assets: PageAssets;
  readonly logo: PageAsset | null;
  /** Undefined: off. */
  readonly walletConnect?: WalletConnectSettings | undefined;
}

interface ManifestEntry {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

const PAGE = 'src/client/main.ts';
const WALLET_CONNECT = 'src/client/wallet-connect/connect-by-code.ts';
const STYLE = 'src/page.css';
const NOTICES = 'THIRD-PARTY-NOTICES.md';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

const BUILT_PAGE = join(import.meta.dirname, '..', 'dist', 'page');

/** @throws GatewayError CHECKOUT_NOT_BUILT */
export function readPageAssets(folder = BUILT_PAGE): PageAssets {
  try {
    const read = (file: string) => readFileSync(join(folder, file));
    const manifest = JSON.parse(read('manifest.json').toString()) as Record<string, ManifestEntry>;
    const fileOf = (source: string): string => {
      const entry = manifest[source];
      if (entry === undefined) throw new Error(`the manifest has no ${source}`);
      return entry.file;
    };
    const assetsOf = (sources: Iterable<string>) =>
      [...new Set([...sources].map(fileOf))].map((name) => ({
        name,
        body: read(name),
        contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
      }));
    const own = reach(manifest, PAGE, WALLET_CONNECT).add(STYLE);
    const added = [...reach(manifest, WALLET_CONNECT)].filter((source) => !own.has(source));
    const shared = (manifest[PAGE]?.imports ?? []).map(fileOf);
    const texts = Object.fromEntries(
      LANGUAGE_VALUES.map((language) => [language, fileOf(`src/texts/${language}.ts`)]),
    ) as Record<Language, string>;
    return {
      files: assetsOf(own),
      walletConnect: assetsOf(added),
      notices: { name: NOTICES, body: read(NOTICES), contentType: 'text/markdown; charset=utf-8' },
      style: read(fileOf(STYLE)).toString().trim(),
      script: fileOf(PAGE),
      shared,
      texts,
    };
  } catch (cause) {
    throw new GatewayError<PageAssetsErrorCode>(
      'CHECKOUT_NOT_BUILT',
      'the checkout page is not built: run "pnpm build"',
      { retryable: false, cause },
    );
  }
}

/** All files of a page. */
export function servedFiles({ assets, logo, walletConnect }: ServedPage): readonly PageAsset[] {
  return [
    ...assets.files,
    ...(walletConnect === undefined ? [] : assets.walletConnect),
    ...(logo === null ? [] : [logo]),
  ];
}

/** Chunks that an entry may load, and itself, without `except` and what only that chunk loads. */
function reach(
  manifest: Readonly<Record<string, ManifestEntry>>,
  entry: string,
  except?: string,
  found = new Set<string>(),
): Set<string> {
  if (entry === except || found.has(entry)) return found;
  found.add(entry);
  const { imports = [], dynamicImports = [] } = manifest[entry] ?? {};
  for (const next of [...imports, ...dynamicImports]) reach(manifest, next, except, found);
  return found;
}
