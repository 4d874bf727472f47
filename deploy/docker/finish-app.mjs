// node deploy/docker/finish-app.mjs <folder> <SOURCE_DATE_EPOCH>
// Finishes a deployed service for its image: checks its bill of materials and removes files that never run and
// everything that differs between two builds of the same sources.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lutimesSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';

const [folder, epoch] = process.argv.slice(2);
const OWN = /(^|\/)node_modules\/@opentill\/[^/]+\//;
/** The package manager's files, which contain times. */
const BOOKKEEPING =
  /(^|\/)(\.modules\.yaml|\.pnpm-workspace-state-v1\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|\.pnpm\/lock\.yaml|\.tsbuildinfo)$/;
/** Files kept of own packages: build output and the schema's SQL; at the top also the files that the stage added. */
const OWN_BUILT = /^(dist\/|schema\/|package\.json$|(await-login|check-health)\.mjs$|sbom\.cdx\.json$)/;

function* entries(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const file = join(path, entry.name);
    if (entry.isDirectory()) yield* entries(file);
    yield { file, isDirectory: entry.isDirectory(), isLink: entry.isSymbolicLink() };
  }
}

/** Installed packages including the app as `name@version`, each with its resolved dependencies. */
function installed() {
  const found = new Map();
  for (const { file, isDirectory, isLink } of entries(folder)) {
    const path = relative(folder, file);
    const isPackage = path === 'package.json' || /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path);
    if (isDirectory || isLink || !isPackage) continue;
    const id = idOf(dirname(file));
    const neighbours = /(^|\/)node_modules\/\.pnpm\/[^/]+\/node_modules\//.exec(path);
    const within = [
      join(dirname(file), 'node_modules'),
      ...(neighbours ? [join(folder, neighbours[0])] : []),
    ];
    const reached = found.get(id) ?? new Set(); // one version may be installed for several peer sets
    for (const other of within.flatMap(packagesIn)) if (other !== id) reached.add(other);
    found.set(id, reached);
  }
  return found;
}

function idOf(path) {
  const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}

function packagesIn(modules) {
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
  const paths = names.flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name],
  );
  return paths.map((path) => idOf(join(modules, path)));
}

function listed(bill) {
  const all = [bill.metadata.component, ...bill.components];
  return new Map(all.map((one) => [`${one.group ? `${one.group}/` : ''}${one.name}@${one.version}`, one]));
}

function finishBill(file) {
  const bill = JSON.parse(readFileSync(file, 'utf8'));
  const [inFolder, inBill] = [installed(), listed(bill)];
  const wrong = [
    ...[...inFolder.keys()].filter((id) => !inBill.has(id)).map((id) => `installed but not listed: ${id}`),
    ...[...inBill.keys()].filter((id) => !inFolder.has(id)).map((id) => `listed but not installed: ${id}`),
  ];
  if (wrong.length > 0)
    throw new Error(`the bill of materials differs from the installed packages\n${wrong.join('\n')}`);
  bill.metadata.timestamp = new Date(Number(epoch) * 1_000).toISOString();
  delete bill.serialNumber; // random
  const refOf = (id) => inBill.get(id)['bom-ref'];
  bill.components.sort((a, b) => byText(a['bom-ref'], b['bom-ref'])); // their order depends on the file system
  // pnpm lists shared dependencies only for the package it read first.
  bill.dependencies = [...inFolder]
    .map(([id, reached]) => ({ ref: refOf(id), dependsOn: [...reached].map(refOf).sort(byText) }))
    .sort((a, b) => byText(a.ref, b.ref));
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const id = [8, 12, 16, 20, 32].map((end, i, ends) => digest.slice(ends[i - 1] ?? 0, end));
  writeFileSync(file, `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${id.join('-')}` }, null, 1)}\n`);
  return inFolder.size;
}

/** By code units, independent of the locale. */
function byText(a, b) {
  return a < b ? -1 : 1;
}

function isNeeded(path) {
  if (BOOKKEEPING.test(path)) return false;
  const inOwn = OWN.exec(path);
  if (inOwn !== null) return isNeededOfOwn(path.slice(inOwn.index + inOwn[0].length));
  if (!path.startsWith('node_modules/')) return isNeededOfOwn(path);
  return !/\.(ts|cts|mts|map)$/.test(path);
}

function isNeededOfOwn(path) {
  return OWN_BUILT.test(path) && !/\.d\.ts(\.map)?$/.test(path);
}

const packages = finishBill(join(folder, 'sbom.cdx.json'));
let removed = 0;
for (const { file, isDirectory } of entries(folder)) {
  const path = relative(folder, file);
  if (isDirectory ? isEmpty(file) : !isNeeded(path)) {
    rmSync(file, { recursive: true });
    removed += 1;
  }
}
for (const entry of [...entries(folder), { file: folder, isDirectory: true, isLink: false }]) {
  if (!entry.isLink) chmodSync(entry.file, mode(entry));
  lutimesSync(entry.file, Number(epoch), Number(epoch));
}
process.stdout.write(`${packages} packages, ${removed} files and folders removed\n`);

/** Ignores the umask of the checkout: keeps only the executable bit. */
function mode({ file, isDirectory }) {
  return isDirectory || (statSync(file).mode & 0o100) !== 0 ? 0o755 : 0o644;
}

function isEmpty(path) {
  return readdirSync(path).length === 0;
}
