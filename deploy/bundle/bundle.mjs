// node deploy/bundle/bundle.mjs [<app>...]
// Bundles the programs of apps.mjs, or the named ones, from their TypeScript sources into build/<app>, which an image
// has as /app. A bundle needs no node_modules. Part of `pnpm build`.
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { APPS, PAGE_MODULES } from './apps.mjs';
import { byText, noticesOf, readPackage } from './third-party-notices.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
/** Packages that libraries load only when they are installed. */
const OPTIONAL = ['pg-native'];
/** Files next to a module that the module reads: its path ends in the key. */
const FILES_OF_MODULES = { 'tiny-secp256k1/lib/wasm_path.js': 'secp256k1.wasm' };
const isOwn = (id) => !id.includes('/node_modules/');
/** Modules have ids of other kinds, which begin with a zero byte. */
const pathOf = (id) => id.replace(/^\0/, '').replace(/\?.*$/, '');

/** Names of the sources in stack traces: `services/api/src/app.ts`, `pg@8.23.1/lib/client.js`. */
function sourceName(path) {
  if (isOwn(path)) return relative(ROOT, path);
  const { id, folder } = readPackage(path);
  return `${id}/${relative(folder, path)}`;
}

async function bundle(name, { folder, entries, files }) {
  const target = join(ROOT, 'build', name);
  const building = `${target}.new`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(building, { recursive: true });
  const isEntry = new Set(Object.values(entries).map((file) => join(ROOT, file)));
  const bundled = await rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([entry, file]) => [entry, join(ROOT, file)])),
    platform: 'node',
    resolve: { conditionNames: ['source', 'node'] },
    external: OPTIONAL,
    // Own modules have no effect when they are imported, except the programs.
    treeshake: { moduleSideEffects: (id) => !isOwn(id) || isEntry.has(id) },
    onLog(level, log, report) {
      if (level === 'warn') throw new Error(`${name}: ${log.message}`);
      report(level, log);
    },
  });
  const imports = new Map();
  const { output } = await bundled.write({
    dir: join(building, 'dist'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (source, map) => sourceName(join(dirname(map), source)),
    plugins: [
      {
        name: 'imports',
        generateBundle() {
          for (const id of this.getModuleIds()) {
            const { importedIds, dynamicallyImportedIds } = this.getModuleInfo(id);
            imports.set(id, [...importedIds, ...dynamicallyImportedIds]);
          }
        },
      },
    ],
  });
  await bundled.close();
  for (const { fileName, type } of output)
    if (type === 'chunk') escapeNonAscii(join(building, 'dist', fileName));

  const chunks = output.filter(({ type }) => type === 'chunk');
  const ids = chunks
    .flatMap(({ modules }) => Object.entries(modules))
    .flatMap(([id, { renderedLength }]) => (renderedLength > 0 && existsSync(pathOf(id)) ? [id] : []));
  for (const [end, file] of Object.entries(FILES_OF_MODULES)) {
    const module = ids.find((id) => id.endsWith(end));
    if (module !== undefined) cpSync(join(dirname(module), file), join(building, 'dist', file));
  }
  for (const [to, from] of Object.entries({ 'package.json': `${folder}/package.json`, ...files }))
    cpSync(join(ROOT, from), join(building, to), { recursive: true });
  requireComplete(name, building, chunks);
  if ('dist/page' in files) {
    for (const [id, imported] of JSON.parse(readFileSync(join(ROOT, PAGE_MODULES), 'utf8'))) {
      if (!ids.includes(id)) ids.push(id);
      imports.set(id, [...(imports.get(id) ?? []), ...imported]);
    }
  }
  const packages = packagesOf(ids, imports);
  writeFileSync(join(building, 'packages.json'), `${JSON.stringify(packages, null, 1)}\n`);
  writeFileSync(join(building, 'THIRD-PARTY-NOTICES.txt'), noticesOf(ids.filter((id) => !isOwn(id))));
  rmSync(target, { recursive: true, force: true });
  renameSync(building, target);
  return { name, bytes: chunks.reduce((sum, { code }) => sum + code.length, 0), packages };
}

/** V8 stores a text with one character above U+00FF in two bytes per character. Escapes keep the line of each token. */
function escapeNonAscii(file) {
  const code = readFileSync(file, 'utf8');
  const escaped = code.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(file, escaped);
}

/** @throws if a program would miss a package or a file when it runs */
function requireComplete(name, folder, chunks) {
  const ours = new Set(chunks.map(({ fileName }) => fileName));
  for (const { fileName, code, imports, dynamicImports } of chunks) {
    for (const one of [...imports, ...dynamicImports])
      if (!isBuiltin(one) && !ours.has(one)) throw new Error(`${name}: ${fileName} imports ${one}`);
    for (const [, file] of code.matchAll(/new URL\((?:"([^"]+)"|`([^`$]+)`), ?import\.meta\.url\)/g))
      if (file !== undefined && !existsSync(join(folder, 'dist', file)))
        throw new Error(`${name}: ${fileName} reads ${file}, which is not in the bundle`);
  }
}

/** Bundled packages as `name@version`, each with the packages that its modules import. */
function packagesOf(ids, imports) {
  const idOf = (module) => readPackage(pathOf(module)).id;
  const included = new Set(ids);
  const found = new Map();
  for (const module of ids) {
    const reached = found.get(idOf(module)) ?? new Set();
    found.set(idOf(module), reached);
    for (const other of imports.get(module) ?? []) if (included.has(other)) reached.add(idOf(other));
  }
  return Object.fromEntries(
    [...found]
      .sort(([a], [b]) => byText(a, b))
      .map(([id, reached]) => [id, [...reached].filter((other) => other !== id).sort(byText)]),
  );
}

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : Object.keys(APPS)) {
  if (APPS[name] === undefined) throw new Error(`${name}: use one of ${Object.keys(APPS).join(', ')}`);
  const { bytes, packages } = await bundle(name, APPS[name]);
  const count = Object.keys(packages).length;
  process.stdout.write(`${name} ${version}: ${Math.round(bytes / 1024)} KiB of ${count} packages\n`);
}
