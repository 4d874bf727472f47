import { defineConfig } from 'vite';

/**
 * Builds the page's script and style from the sources of the workspace: a small entry and one chunk per language. The
 * api serves them by the manifest (page-assets.ts); file names contain a hash of the content.
 */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  publicDir: false,
  resolve: { conditions: ['source', 'browser', 'module', 'import', 'default'] },
  build: {
    outDir: 'dist/page',
    emptyOutDir: true,
    target: 'es2022',
    manifest: 'manifest.json',
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
