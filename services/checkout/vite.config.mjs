import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';

/** The api announces the chunks that a page needs, so Vite's own helper for that is left out. */
const withoutPreloadHelper = {
  name: 'without-preload-helper',
  configResolved({ plugins }) {
    const others = plugins.filter(({ name }) => !name.includes('import-analysis'));
    plugins.splice(0, plugins.length, ...others);
  },
};

/** Writes which modules of packages the page contains, with what they import, for the licences and bills of images. */
const listModules = {
  name: 'list-modules',
  generateBundle(_options, bundle) {
    const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk');
    const ids = chunks.flatMap(({ modules }) => Object.entries(modules));
    const contained = ids.flatMap(([id, { renderedLength }]) =>
      renderedLength > 0 && id.startsWith('/') && id.includes('/node_modules/') ? [id] : [],
    );
    const modules = contained.map((id) => {
      const { importedIds, dynamicallyImportedIds } = this.getModuleInfo(id);
      return [id, [...importedIds, ...dynamicallyImportedIds]];
    });
    writeFileSync(join(import.meta.dirname, 'dist/page-modules.json'), JSON.stringify(modules));
  },
};

/** A small entry and one chunk per language. The api serves them by the manifest (page-assets.ts). */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  publicDir: false,
  plugins: [withoutPreloadHelper, listModules],
  resolve: { conditions: ['source', 'browser', 'module', 'import', 'default'] },
  build: {
    outDir: 'dist/page',
    emptyOutDir: true,
    target: 'es2022',
    manifest: 'manifest.json',
    // For the page on a host of its own (export-page.ts).
    license: { fileName: 'THIRD-PARTY-NOTICES.md' },
    modulePreload: false,
    rollupOptions: {
      input: { page: 'src/client/main.ts', style: 'src/page.css' },
      output: {
        entryFileNames: '[name]-[hash].js',
        chunkFileNames: '[name]-[hash].js',
        assetFileNames: '[name]-[hash][extname]',
      },
    },
  },
});
