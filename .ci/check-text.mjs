// Checks comments, test titles and documents: words that a reader must decode, titles over 80 characters, broken links
// and sections, documents over their limit. Part of `pnpm lint`.
import { execSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const TITLE_MAX = 80;
const linesMax = (file) =>
  file === 'ARCHITECTURE.md' ? 120 : file.startsWith('docs/architecture/') ? 200 : Infinity;
/** Idioms without a legitimate use here, each with a better word. */
const IDIOMS = [
  [/\b(?:nobody|somebody|anybody|everybody|whoever)\b/i, 'no client, an operator, a third party: name it'],
  [/(?<!-)\balone\b/i, 'only, a single'],
  [/\bbeside\b/i, 'next to, in addition to, while … runs'],
  [/\bfor ever\b/i, 'permanently'],
  [/\bany more\b/i, 'no longer'],
  [/\bby decree\b/i, "set by the test's clock"],
  [/\b(?:told|tells?|telling) of\b|\b(?:is|are|was|were|be|been) told\b/i, 'receives, reports'],
  [/\b(?:says?|said) of\b/i, 'the X that Y reports'],
  [/\b(?:held|hold|holds|holding) against\b/i, 'compared with, checked against'],
  [/\b(?:goes|went|going) on\b/i, 'continues'],
  [/\bstands? (?:in|there)\b/i, 'is in, is stored in, replaces'],
  [/\b(?:comes?|came|becomes?|became) of\b/i, 'results in, outcome'],
  [/\b(?:must be|unless it is|unless) said\b/i, 'required, default'],
  [/\bvouch(?:es|ed|ing)?\b/i, 'verify stored signatures'],
  [/\bbur(?:y|ies|ied)\b/i, 'expire dead attempts'],
  [/\bjudged? again\b/i, 're-check the policy'],
  [/(?<![\w.-])fates?\b(?!\.\w)/i, 'outcome'],
  [/\bhindered\b/i, 'blocked'],
  [/\bof two the\b/i, 'the lower of the two'],
  [/(?:^|[.;:] )Of (?:a|an|the|what|two|those|that|all|one)\b/, 'begin with the subject'],
];
const IDIOM = new RegExp(IDIOMS.map(([{ source }]) => source).join('|'), 'i');
const TITLE =
  /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(['"`])((?:\\.|(?!\1).)+)\1,\s*(?:async\b|function\b|\(|\{|\w+ =>)/g;
const SECTIONS = /\bapi\.md[\s*/#,]+sections? (\d[\d.]*(?:(?:,| to| and) \d[\d.]*)*)/g;
const FENCED = /^( *)```[^]*?^\1```/gm;

const read = (file) => readFileSync(join(ROOT, file), 'utf8');
const lineAt = (text, index) => text.slice(0, index).split('\n').length;
/** Same length, so that positions stay valid. */
const blank = (text) => text.replace(/[^\n]/g, ' ');

/** Prose of a document, without code. */
const proseOf = (text) => text.replace(FENCED, blank).replace(/`[^`\n]+`/g, blank);

/** Comments and paragraphs as [text, first line], with continuation marks blanked and lines joined. */
function unitsOf(file, text) {
  if (file.endsWith('.md')) {
    const paragraphs = [...proseOf(text).matchAll(/(?:^.*\S.*\n?)+/gm)];
    return paragraphs.map((found) => [found[0], lineAt(text, found.index)]);
  }
  const mark = /\.(ts|mjs|css|sol)$/.test(file) ? '\\/\\/' : file.endsWith('.sql') ? '--' : '#';
  const comment = new RegExp(
    `(?<=^|[\\s(,;=])\\/\\*[^]*?\\*\\/|(?:^[ \\t]*${mark}[ \\t].*\\n?)+|(?<=[;,{}()\\]'"][ \\t]*)${mark}[ \\t].*$`,
    'gm',
  );
  return [...text.matchAll(comment)].map((found) => [
    found[0].replace(/^[ \t]*(?:\/\*+|\*(?!\/)|\/\/|--|#)/gm, blank).replace(/`[^`\n]+`/g, blank),
    lineAt(text, found.index),
  ]);
}

function findIdioms(unit, line, report) {
  const words = unit.replace(/\s+/g, ' ').trim();
  if (!IDIOM.test(words)) return;
  for (const [pattern, better] of IDIOMS)
    for (const [found] of words.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))) {
      const phrase = found.replace(/^[.;:] /, '');
      const index = unit.search(new RegExp(`\\b${phrase.replaceAll(' ', '\\s+')}\\b`));
      report(line + lineAt(unit, index) - 1, `"${phrase}": ${better}`);
    }
}

function findTextProblems(file, text, report) {
  for (const [unit, line] of unitsOf(file, text)) findIdioms(unit, line, report);
  if (!/\.test\.ts$|\/test\/.*\.ts$/.test(file)) return;
  for (const { 2: title, index } of text.matchAll(TITLE)) {
    const line = lineAt(text, index);
    findIdioms(title, line, report);
    const { length } = title.replace(/\$\{[^}]*\}/g, '…').replace(/\\(.)/g, '$1');
    if (length > TITLE_MAX) report(line, `"${title}": ${length} characters, shorten to ${TITLE_MAX}`);
  }
}

/** Anchors of a document's headings as GitHub makes them. */
function anchorsOf(file) {
  const headings =
    read(file)
      .replace(FENCED, '')
      .match(/^#+ .+$/gm) ?? [];
  const slugs = headings.map((heading) => heading.toLowerCase().replace(/^#+ |[^\p{L}\p{N} _-]/gu, ''));
  return slugs.map((slug, place) => {
    const repeats = slugs.slice(0, place).filter((one) => one === slug).length;
    return `${slug}${repeats === 0 ? '' : `-${repeats}`}`.replaceAll(' ', '-');
  });
}

function findBrokenReferences(file, text, report) {
  for (const { 1: list, index } of text.matchAll(SECTIONS))
    for (const section of list.match(/\d+(?:\.\d+)*/g))
      if (!new RegExp(`^#+ ${section.replaceAll('.', '\\.')}\\.? `, 'm').test(read('docs/api.md')))
        report(lineAt(text, index), `docs/api.md has no section ${section}`);
  if (!file.endsWith('.md')) return;
  for (const { 1: target, index } of proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split('#');
    const linked = path === '' ? file : posix.join(dirname(file), decodeURI(path));
    if (!existsSync(join(ROOT, linked))) report(lineAt(text, index), `(${target}): ${linked} does not exist`);
    else if (anchor !== undefined && linked.endsWith('.md') && !anchorsOf(linked).includes(anchor))
      report(lineAt(text, index), `(${target}): ${linked} has no heading #${anchor}`);
  }
  const lines = text.trimEnd().split('\n').length;
  if (lines > linesMax(file)) report(lines, `${lines} lines, shorten to ${linesMax(file)}`);
}

const CHECKED = /\.(md|ts|mjs|sql|css|sol|sh|ya?ml)$|Dockerfile$|\.env\.example$/;
const SKIPPED = /(^|\/)(dist|artifacts|fixtures|golden)\/|^pnpm-lock\.yaml$/;
const list = 'git ls-files -z --cached --others --exclude-standard';
const files = execSync(list, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 })
  .split('\0')
  .sort();
const problems = [];
for (const file of files) {
  if (!CHECKED.test(file) || SKIPPED.test(file) || !existsSync(join(ROOT, file))) continue;
  const text = read(file);
  const report = (line, what) => problems.push(`${file}:${line}: ${what}`);
  findTextProblems(file, text, report);
  findBrokenReferences(file, text, report);
}
process.stderr.write(problems.map((problem) => `${problem}\n`).join(''));
process.exitCode = problems.length > 0 ? 1 : 0;
