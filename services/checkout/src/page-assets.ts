import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
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
  /** Inlined, so that the first paint needs no further file. */
  readonly style: string;
  readonly script: string;
  /** Chunks that the script loads at once, in every language. */
  readonly shared: readonly string[];
  readonly texts: Readonly<Record<Language, string>>;
}

interface ManifestEntry {
  readonly file: string;
  readonly imports?: readonly string[];
}

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
    const script = fileOf('src/client/main.ts');
    const shared = (manifest['src/client/main.ts']?.imports ?? []).map(fileOf);
    const texts = Object.fromEntries(
      LANGUAGE_VALUES.map((language) => [language, fileOf(`src/texts/${language}.ts`)]),
    ) as Record<Language, string>;
    const names = new Set(Object.values(manifest).map(({ file }) => file));
    return {
      files: [...names].map((name) => ({
        name,
        body: read(name),
        contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
      })),
      style: read(fileOf('src/page.css')).toString().trim(),
      script,
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
