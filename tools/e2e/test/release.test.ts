import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHECKOUT } from '../src/read-markdown.ts';

const read = (file: string) => readFileSync(join(CHECKOUT, file), 'utf8');
const WORKFLOWS = globSync('.github/workflows/*.yml', { cwd: CHECKOUT });

interface Step {
  readonly run?: string;
}
interface Job {
  readonly needs?: string | readonly string[];
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly include: readonly Image[] } };
}
interface Image {
  readonly service: string;
  readonly target: string;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}
const workflow = (file: string) => parse(read(file)) as Workflow;
const release = workflow('.github/workflows/release.yml');
const ci = workflow('.github/workflows/ci.yml');
const commandsOf = (job: Job | undefined): readonly string[] =>
  (job?.steps ?? []).flatMap(({ run = '' }) => run.split('\n').map((line) => line.trim()));
const needed = (job: string): readonly string[] =>
  [release.jobs[job]?.needs ?? []].flat().flatMap((name) => [name, ...needed(name)]);

describe('workflows', () => {
  it('pin every action by the hash of a commit, with its version', () => {
    expect(WORKFLOWS.length).toBeGreaterThan(1);
    const uses = WORKFLOWS.flatMap((file) =>
      [...read(file).matchAll(/uses: (.+)/g)].map(([, one]) => one ?? ''),
    );
    const foreign = uses.filter((one) => !one.startsWith('./'));
    expect(foreign.length).toBeGreaterThan(5);
    expect(foreign.filter((one) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(one))).toEqual([]);
    const hashes = new Map<string, Set<string>>();
    for (const one of foreign) {
      const [name = '', rest = ''] = one.split('@');
      hashes.set(name, (hashes.get(name) ?? new Set()).add(rest));
    }
    expect([...hashes].filter(([, versions]) => versions.size > 1)).toEqual([]);
  });

  it('give each job only its own rights, and put no expression into a shell', () => {
    for (const file of WORKFLOWS) {
      const { permissions, jobs } = workflow(file);
      expect(
        Object.values(permissions).filter((right) => right !== 'read'),
        file,
      ).toEqual([]);
      for (const { steps = [] } of Object.values(jobs))
        expect(steps.filter(({ run }) => run?.includes('${{'))).toEqual([]);
    }
    const writers = Object.entries(release.jobs).filter(
      ([, job]) => job.permissions?.['contents'] === 'write',
    );
    expect(writers.map(([name]) => name)).toEqual(['draft', 'publish']);
  });

  it('check chart, workflows and alert rules by tools of fixed versions', () => {
    const commands = commandsOf(ci.jobs['deployment']);
    expect(commands).toContain('deploy/helm/test/check-chart');
    expect(commands).toContain('actionlint');
    const rules = commands
      .find((line) => line.startsWith('npm run test:full -- '))
      ?.split(' ')
      .at(-1);
    expect(read(rules ?? '')).toContain("['test', 'rules', file]");
    const installed = commands.filter((line) => line.startsWith('go install '));
    expect(installed).toHaveLength(3);
    for (const line of installed) expect(line).toMatch(/@v\d+\.\d+\.\d+$/);
  });

  it('publish only what all checks accepted, to npm last, and the release after npm', () => {
    expect(release.jobs['check']?.uses).toBe('./.github/workflows/ci.yml');
    for (const job of ['images', 'chart', 'draft', 'sdk', 'publish'])
      expect(needed(job), job).toContain('check');
    expect(needed('sdk')).toEqual(expect.arrayContaining(['images', 'chart', 'draft']));
    expect(needed('publish')).toContain('sdk');
    const releasing = (job: string) => commandsOf(release.jobs[job]).filter((line) => line.startsWith('gh '));
    expect(releasing('draft').join()).toMatch(/^gh release create [^,]* --draft /);
    expect(releasing('publish')).toEqual(['gh release edit "$GITHUB_REF_NAME" --draft=false']);
  });

  it('lint the published chart with values, which it requires', () => {
    const lint = commandsOf(release.jobs['chart']).filter((line) => line.startsWith('helm lint'));
    expect(lint).toHaveLength(1);
    const file = /^helm lint --strict deploy\/helm\/opentill --values (\S+)$/.exec(lint[0] ?? '')?.[1];
    expect(read(file ?? '')).toContain('CHECKOUT_BASE_URL: https://');
  });

  it('publish the image of every service that the compose files build', () => {
    const built = ['docker-compose.yml', 'docker-compose.small.yml'].flatMap((file) =>
      [...read(file).matchAll(/SERVICE: ([\w-]+)/g)].map(([, name]) => name),
    );
    const published = release.jobs['images']?.strategy?.matrix.include ?? [];
    const shipped = [...new Set(built)].filter((name) => name !== 'demo-shop' && name !== 'compose-devnet');
    expect(published.map(({ service }) => service).toSorted()).toEqual(shipped.toSorted());
    for (const { service, target } of published)
      if (service !== 'small')
        expect(read('docker-compose.yml')).toContain(
          `target: ${target}, args: { <<: *build-arguments, SERVICE: ${service} }`,
        );
    const listed = /for service in (.+); do/.exec(read('.github/workflows/release.yml'))?.[1]?.split(' ');
    expect(listed).toEqual(published.map(({ service }) => service));
  });
});

it('CHANGELOG.md has a section for the version of all packages, newest first', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const packages = globSync('{libs,services,deploy,tools}/*/package.json', { cwd: CHECKOUT });
  for (const file of packages) expect(JSON.parse(read(file)), file).toMatchObject({ version });
  const sections = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const form = /^\[(\d+\.\d+\.\d+)\] - (Unreleased|\d{4}-\d{2}-\d{2})$/;
  expect(sections.filter((heading) => !form.test(heading))).toEqual([]);
  const versions = sections.map((heading) => form.exec(heading)?.[1] ?? '');
  expect(versions[0]).toBe(version);
  const compare = new Intl.Collator('en', { numeric: true }).compare;
  expect(versions).toEqual(versions.toSorted(compare).toReversed());
  const kinds = [...read('CHANGELOG.md').matchAll(/^### (.+)$/gm)].map(([, kind]) => kind);
  const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', 'Upgrade'];
  expect(kinds.filter((kind) => !known.includes(kind ?? ''))).toEqual([]);
});
