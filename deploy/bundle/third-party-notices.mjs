import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** By code units, independent of the locale. */
export function byText(a, b) {
  return a < b ? -1 : 1;
}

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;
const known = new Map();

/** The package that a file belongs to: `id` is name@version. Folders may hold a package.json without a name. */
export function readPackage(file) {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (known.has(folder)) return known.get(folder);
    const path = join(folder, 'package.json');
    if (existsSync(path)) {
      const { name, version, license, author } = JSON.parse(readFileSync(path, 'utf8'));
      if (name !== undefined && version !== undefined) {
        const found = { id: `${name}@${version}`, folder, license, author };
        known.set(folder, found);
        return found;
      }
    }
    if (folder === dirname(folder)) throw new Error(`${file} belongs to no package`);
  }
}

/** Name, version and licence texts of the packages that the files belong to. */
export function noticesOf(files) {
  const packages = new Map(files.map((file) => [readPackage(file).id, readPackage(file)]));
  const sections = [...packages.keys()].sort(byText).map((id) => {
    const { folder, license, author } = packages.get(id);
    if (license === undefined) throw new Error(`${id} names no licence`);
    const texts = readdirSync(folder)
      .filter((name) => LICENCE_FILE.test(name))
      .sort(byText)
      .map((name) => readFileSync(join(folder, name), 'utf8').trim());
    const by = typeof author === 'object' ? author.name : author;
    return [`${id} (${license})`, ...(texts.length > 0 ? texts : [`Author: ${by ?? 'not named'}`])].join(
      '\n\n',
    );
  });
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
