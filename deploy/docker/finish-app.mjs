// Makes of a deployed service what an image takes: checks its bill of materials against what is installed, takes out
// what never runs, and leaves nothing that differs between two builds of the same lockfile and sources.
//
//   node deploy/docker/finish-app.mjs <folder> <SOURCE_DATE_EPOCH>
import { createHash } from 'node:crypto';
import { chmodSync, lutimesSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const [folder, epoch] = process.argv.slice(2);
const OWN = /(^|\/)node_modules\/@opentill\/[^/]+\//;
/** Written by the package manager for itself, with times in them. */
const BOOKKEEPING =
  /(^|\/)(\.modules\.yaml|\.pnpm-workspace-state-v1\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|\.pnpm\/lock\.yaml|\.tsbuildinfo)$/;
/** Of our own packages only what is built; at the top what the stage put there, too. */
const OWN_BUILT = /^(dist\/|package\.json$|check-health\.mjs$|sbom\.cdx\.json$)/;

/** Every entry below, folders after what is in them; symbolic links are not followed. */
function* entries(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const file = join(path, entry.name);
    if (entry.isDirectory()) yield* entries(file);
    yield { file, isDirectory: entry.isDirectory(), isLink: entry.isSymbolicLink() };
  }
}

/** `name@version` of everything installed below, the app itself included. */
function installed() {
  const found = new Set();
  for (const { file, isDirectory, isLink } of entries(folder)) {
    const path = relative(folder, file);
    const isPackage = path === 'package.json' || /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path);
    if (isDirectory || isLink || !isPackage) continue;
    const { name, version } = JSON.parse(readFileSync(file, 'utf8'));
    found.add(`${name}@${version}`);
  }
  return found;
}

function listed(bill) {
  const all = [bill.metadata.component, ...bill.components];
  return new Set(all.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`));
}

function finishBill(file) {
  const bill = JSON.parse(readFileSync(file, 'utf8'));
  const [there, said] = [installed(), listed(bill)];
  const wrong = [
    ...[...there].filter((name) => !said.has(name)).map((name) => `installed but not listed: ${name}`),
    ...[...said].filter((name) => !there.has(name)).map((name) => `listed but not installed: ${name}`),
  ];
  if (wrong.length > 0) throw new Error(`the bill of materials is wrong\n${wrong.join('\n')}`);
  bill.metadata.timestamp = new Date(Number(epoch) * 1_000).toISOString();
  delete bill.serialNumber; // random
  const byText = (key) => (a, b) => (a[key] < b[key] ? -1 : 1);
  bill.components.sort(byText('bom-ref')); // they come in the order in which they were read
  bill.dependencies.sort(byText('ref')).forEach(({ dependsOn }) => dependsOn?.sort());
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const id = [8, 12, 16, 20, 32].map((end, i, ends) => digest.slice(ends[i - 1] ?? 0, end));
  writeFileSync(file, `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${id.join('-')}` }, null, 1)}\n`);
  return there.size;
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

/** Of the checkout's modes, which follow somebody's umask, only what can be run. */
function mode({ file, isDirectory }) {
  return isDirectory || (statSync(file).mode & 0o100) !== 0 ? 0o755 : 0o644;
}

function isEmpty(path) {
  return readdirSync(path).length === 0;
}
