import { defineConfig } from 'vite';

/**
 * The page's script and style, from the sources of the workspace: a small entry, and a chunk for each language. The
 * api hands them out by the manifest (page-assets.ts), under names that are the hash of what is in them.
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
