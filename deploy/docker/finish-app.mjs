// node deploy/docker/finish-app.mjs <folder> <SOURCE_DATE_EPOCH>
// Finishes a program's folder for its image: reduces its bill of materials to the packages in the bundle, and removes
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
import { join } from 'node:path';

const [folder, epoch] = process.argv.slice(2);

function* entries(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const file = join(path, entry.name);
    if (entry.isDirectory()) yield* entries(file);
    yield { file, isDirectory: entry.isDirectory(), isLink: entry.isSymbolicLink() };
  }
}

function idOf({ group, name, version }) {
  return `${group ? `${group}/` : ''}${name}@${version}`;
}

/** The package manager lists what the program may import. The bundle has less: packages.json of deploy/bundle. */
function finishBill(file, bundled) {
  const bill = JSON.parse(readFileSync(file, 'utf8'));
  const listed = new Map([bill.metadata.component, ...bill.components].map((one) => [idOf(one), one]));
  const missing = Object.keys(bundled).filter((id) => !listed.has(id));
  if (missing.length > 0) throw new Error(`bundled but not in the bill of materials: ${missing.join(', ')}`);
  bill.metadata.timestamp = new Date(Number(epoch) * 1_000).toISOString();
  delete bill.serialNumber; // random
  const refOf = (id) => listed.get(id)['bom-ref'];
  bill.components = bill.components
    .filter((one) => bundled[idOf(one)] !== undefined)
    .sort((a, b) => byText(a['bom-ref'], b['bom-ref'])); // their order depends on the file system
  bill.dependencies = Object.entries(bundled)
    .map(([id, reached]) => ({ ref: refOf(id), dependsOn: reached.map(refOf).sort(byText) }))
    .sort((a, b) => byText(a.ref, b.ref));
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const id = [8, 12, 16, 20, 32].map((end, i, ends) => digest.slice(ends[i - 1] ?? 0, end));
  writeFileSync(file, `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${id.join('-')}` }, null, 1)}\n`);
}

/** By code units, independent of the locale. */
function byText(a, b) {
  return a < b ? -1 : 1;
}

const packages = join(folder, 'packages.json');
// The local chains are not bundled: they run programs of their packages.
if (existsSync(packages)) {
  finishBill(join(folder, 'sbom.cdx.json'), JSON.parse(readFileSync(packages, 'utf8')));
  rmSync(packages);
}
for (const entry of [...entries(folder), { file: folder, isDirectory: true, isLink: false }]) {
  if (!entry.isLink) chmodSync(entry.file, mode(entry));
  lutimesSync(entry.file, Number(epoch), Number(epoch));
}

/** Ignores the umask of the checkout: keeps only the executable bit. */
function mode({ file, isDirectory }) {
  return isDirectory || (statSync(file).mode & 0o100) !== 0 ? 0o755 : 0o644;
}
